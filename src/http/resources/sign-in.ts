import { z } from "@hono/zod-openapi";
import { SESSION_COOKIE } from "../../access/sent-credential.ts";
import type { BegunSignIn, OpenSignIn } from "../../access/sign-in/open-sign-in.ts";
import { identifyAndSignIn } from "../../access/sign-in/sign-in.ts";
import { SignInRefusal } from "../../access/sign-in/sign-in-refusal.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Deps } from "../../deps.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { signInPage } from "../answers/sign-in-page.ts";
import { RETRY_SECONDS, refusalPage } from "../answers/sign-in-refusal-page.ts";
import { readCheckedBody } from "../bodies/read-checked-body.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { readReturnTo } from "../request/read-return-to.ts";
import type { RequestContext, RouteDefinition } from "../request/routes/route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";
import { sessionCookie } from "../request/session-cookie.ts";
import { forgetBegun, keepBegun, readBegun, readCookie } from "../request/sign-in-cookies.ts";

const FOLDER = "/api/auth/oidc";
const LOGIN_PATH = `${FOLDER}/login`;
const LINK_PATH = `${FOLDER}/link`;
const CALLBACK_PATH = `${FOLDER}/callback`;

const methods = z
  .object({
    password: z.boolean().openapi({ description: "False when OIDC_ONLY switches passwords off." }),
    oidc: z.boolean().openapi({ description: `A browser signs in at \`${LOGIN_PATH}\`.` }),
    oidc_name: z
      .string()
      .nullable()
      .openapi({ description: "Where one signs in then: the provider's host, for a button." }),
  })
  .openapi("LoginMethods");
const linkAsked = z
  .strictObject({ return_to: z.string().default("/") })
  .openapi("LinkAsked", { example: { return_to: "/" } });
const linkBegun = z
  .object({ url: z.string().openapi({ description: "Where the browser goes, to sign in there." }) })
  .openapi("LinkBegun");

const METHODS = resourceRoute({
  path: "/api/auth/methods",
  method: "get",
  access: "open",
  tag: "Sessions",
  operationId: "listLoginMethods",
  summary: "Show how one can log in",
  answer: { description: "The ways.", schema: methods },
});
const LINK = resourceRoute({
  path: LINK_PATH,
  method: "post",
  access: "session",
  tokens: "closed",
  tag: "Sessions",
  operationId: "linkAccount",
  summary: "Link one's user to an account of the provider",
  description:
    "The browser that asks signs in at `url`. It must have the session's cookie, and the session's user is linked then.",
  body: linkAsked,
  answer: { description: "Where to sign in.", schema: linkBegun },
  errors: { 404: "There is no provider.", 503: "The provider cannot be reached." },
});
const LOGIN = browserRoute(LOGIN_PATH);
const CALLBACK = browserRoute(CALLBACK_PATH);
const FINISH_LINK = browserRoute(LINK_PATH);

/** `/api/auth/oidc/*`: signing in with an OpenID Connect provider, in a browser. */
export function signInRoutes(deps: Deps): Router {
  const { settings, signIn } = deps;
  const router = createRouter(deps);
  const inPages = pagesOf(deps);
  const issuer = settings.OIDC_ISSUER;
  router.add(METHODS, () =>
    jsonResponse({
      password: !settings.OIDC_ONLY,
      oidc: signIn !== undefined,
      oidc_name: issuer === undefined ? null : new URL(issuer).host,
    }),
  );
  router.add(LOGIN, (context) =>
    inPages(async (opened) => {
      const asked = new URL(context.req.url).searchParams.get("return_to") ?? "/";
      const returnTo = readReturnTo(asked);
      if (returnTo === undefined) return refuseReturnTo(context, deps, opened);
      const redirectUri = redirectUriOf(context, opened);
      const begun = await opened.begin({ returnTo, redirectUri });
      const headers = { location: begun.url, "cache-control": "no-store" };
      const response = new Response(null, { status: 302, headers });
      return withCookies(response, keepBegun(context, opened, begun));
    }),
  );
  router.add(CALLBACK, (context) =>
    inPages(async (opened) => {
      const begun = openedBy(context, opened);
      return begun?.bindTo === undefined
        ? finish(context, { deps, opened, begun })
        : toFinishLink(context);
    }),
  );
  router.add(FINISH_LINK, (context) =>
    inPages(async (opened) => {
      const begun = openedBy(context, opened);
      const isLink = begun?.bindTo !== undefined;
      return finish(context, { deps, opened, begun: isLink ? begun : undefined });
    }),
  );
  router.add(LINK, async (context, caller) => {
    const given = await readCheckedBody(context, linkAsked);
    const returnTo = readReturnTo(given.return_to);
    if (returnTo === undefined) {
      throw new ServiceError("invalid_value", "`return_to` must be a path of this server.", {
        param: "return_to",
      });
    }
    const opened = requireSignIn(signIn);
    const redirectUri = redirectUriOf(context, opened);
    const bindTo = { sessionId: caller.sessionId, userId: caller.ownerId };
    const begun = await opened.begin({ returnTo, redirectUri, bindTo }).catch(toServiceError);
    return withCookies(jsonResponse({ url: begun.url }), keepBegun(context, opened, begun));
  });
  return router;
}

/** A page for browsers, which stands in no document. */
function browserRoute(path: string): RouteDefinition<"open"> {
  return { method: "get", path, access: "open", audience: "unlisted", responses: {} };
}

/** Returns the sign-in with which the browser came back; undefined unless it began there. */
function openedBy(context: RequestContext, opened: OpenSignIn): BegunSignIn | undefined {
  refuseEmbedded(context);
  const { searchParams } = new URL(context.req.url);
  return readBegun(context, opened, searchParams.getAll("state").join());
}

interface Finishing {
  readonly deps: Deps;
  readonly opened: OpenSignIn;
  readonly begun: BegunSignIn | undefined;
}

async function finish(
  context: RequestContext,
  { deps: { access, settings, log }, opened, begun }: Finishing,
): Promise<Response> {
  const origin = originOf(context);
  opened.keepPace(origin.address);
  const token = readCookie(context, SESSION_COOKIE);
  const bindTo = begun?.bindTo && { ...begun.bindTo, token };
  const { searchParams } = new URL(context.req.url);
  const identify = () => opened.identify(searchParams, begun);
  // Whatever comes of it, the sign-in is over.
  const over = begun === undefined ? [] : [forgetBegun(context, begun)];
  const { createsUsers, isRecorded } = opened;
  const options = { origin, createsUsers, isRecorded, bindTo };
  try {
    const session = await identifyAndSignIn(access, options, identify);
    const page = signInPage(200, {
      title: "You are signed in",
      text: `You are signed in as ${session.user.username}.`,
      link: { path: begun?.returnTo ?? "/", text: "Continue" },
      follows: true,
    });
    const seconds = settings.SESSION_LIFETIME_HOURS * 3_600;
    return withCookies(page, [...over, sessionCookie(context, session.token, seconds)]);
  } catch (thrown) {
    return withCookies(refusalPage(thrown, log), over);
  }
}

/**
 * The callback comes from the provider's site, and so without the session's cookie. A page of this site leads the browser
 * to the same answer of the provider once more, with that cookie.
 */
function toFinishLink(context: RequestContext): Response {
  return signInPage(200, {
    title: "Your account is being linked",
    text: "One moment.",
    link: { path: `${LINK_PATH}${new URL(context.req.url).search}`, text: "Continue" },
    follows: true,
  });
}

/** Browsers say what they load a page for: only a person's own navigation ends a sign-in, no picture and no frame. */
function refuseEmbedded({ req }: RequestContext): void {
  const mode = req.header("sec-fetch-mode") ?? "navigate";
  const destination = req.header("sec-fetch-dest") ?? "document";
  if (mode === "navigate" && destination === "document") return;
  throw new ServiceError(
    "insufficient_permission",
    "This address ends a sign-in, and cannot be a part of a page. Open it in a window of its own.",
  );
}

function withCookies(response: Response, lines: readonly string[]): Response {
  for (const line of lines) response.headers.append("set-cookie", line);
  return response;
}

/** Creates the function that answers a browser: with a page for every refusal. */
function pagesOf({ signIn, log }: Deps) {
  return async (answer: (opened: OpenSignIn) => Promise<Response>): Promise<Response> => {
    try {
      return await answer(requireSignIn(signIn));
    } catch (thrown) {
      return refusalPage(thrown, log);
    }
  };
}

function requireSignIn(signIn: OpenSignIn | undefined): OpenSignIn {
  if (signIn !== undefined) return signIn;
  throw new ServiceError(
    "not_found",
    "There is no sign-in provider. The operator names one in OIDC_ISSUER; log in with a password.",
  );
}

function toServiceError(thrown: unknown): never {
  if (!(thrown instanceof SignInRefusal)) throw thrown;
  throw new ServiceError("overloaded", thrown.message, {
    cause: thrown,
    retryAfterSeconds: RETRY_SECONDS,
  });
}

/** A link with another site in it is an attack: it is recorded as a refused sign-in. */
async function refuseReturnTo(
  context: RequestContext,
  { access }: Deps,
  { createsUsers, isRecorded, keepPace }: OpenSignIn,
): Promise<never> {
  const origin = originOf(context);
  keepPace(origin.address);
  const refusal = new SignInRefusal(
    400,
    "wrong_return_to",
    "The link that led here would have sent you to another site afterwards. `return_to` must be a path of this server.",
  );
  const options = { origin, createsUsers, isRecorded };
  await identifyAndSignIn(access, options, () => Promise.reject(refusal));
  throw refusal;
}

function originOf({ env }: RequestContext) {
  return { address: env.address(), requestId: env.requestId };
}

/** The address that the provider sends the browser back to, which it knows and compares. */
function redirectUriOf({ req, env }: RequestContext, { redirectUri }: OpenSignIn): string {
  if (redirectUri !== undefined) return redirectUri;
  const scheme = env.isHttps() ? "https" : "http";
  return `${scheme}://${req.header("host") ?? ""}${CALLBACK_PATH}`;
}
