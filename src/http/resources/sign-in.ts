import { z } from "@hono/zod-openapi";
import type { OpenSignIn } from "../../access/sign-in/open-sign-in.ts";
import { SIGN_IN_SECONDS } from "../../access/sign-in/open-sign-in.ts";
import { identifyAndSignIn } from "../../access/sign-in/sign-in.ts";
import { SignInRefusal } from "../../access/sign-in/sign-in-refusal.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Deps } from "../../deps.ts";
import { causeOf } from "../../lib/log.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { signInPage } from "../answers/sign-in-page.ts";
import { readCheckedBody } from "../bodies/read-checked-body.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import type { RequestContext, RouteDefinition } from "../request/route.ts";
import { createRouter, type Router } from "../request/router.ts";
import { sessionCookie } from "../request/session-cookie.ts";

const FOLDER = "/api/auth/oidc";
const LOGIN_PATH = `${FOLDER}/login`;
const CALLBACK_PATH = `${FOLDER}/callback`;
const COOKIE = "gateway_sign_in";
const RETURN_MAX_LENGTH = 2_000;

const methods = z
  .object({
    password: z.boolean().openapi({ description: "False when OIDC_ONLY switches passwords off." }),
    oidc: z.boolean().openapi({ description: `A browser signs in at \`${LOGIN_PATH}\`.` }),
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
  path: `${FOLDER}/link`,
  method: "post",
  access: "session",
  tokens: "closed",
  tag: "Sessions",
  operationId: "linkAccount",
  summary: "Link one's user to an account of the provider",
  description: "The browser that asks signs in at `url`, and the session's user is linked then.",
  body: linkAsked,
  answer: { description: "Where to sign in.", schema: linkBegun },
  errors: { 404: "There is no provider.", 503: "The provider cannot be reached." },
});
const LOGIN = browserRoute(LOGIN_PATH);
const CALLBACK = browserRoute(CALLBACK_PATH);

/** `/api/auth/oidc/*`: signing in with an OpenID Connect provider, in a browser. */
export function signInRoutes(deps: Deps): Router {
  const { access, settings, signIn } = deps;
  const router = createRouter(deps);
  const inPages = pagesOf(deps);
  router.add(METHODS, () =>
    jsonResponse({ password: !settings.OIDC_ONLY, oidc: signIn !== undefined }),
  );
  router.add(LOGIN, (context) =>
    inPages(context, async (opened) => {
      const asked = new URL(context.req.url).searchParams.get("return_to") ?? "/";
      const returnTo = readReturnTo(asked);
      if (returnTo === undefined) return refuseReturnTo(context, deps, opened);
      const redirectUri = redirectUriOf(context, opened);
      const { url, cookie } = await opened.begin({ returnTo, redirectUri });
      const headers = { location: url, "cache-control": "no-store" };
      const response = new Response(null, { status: 302, headers });
      response.headers.append("set-cookie", signInCookie(context, cookie));
      return response;
    }),
  );
  router.add(CALLBACK, (context) =>
    inPages(context, async (opened) => {
      const begun = opened.readCookie(readSignInCookie(context));
      const { searchParams } = new URL(context.req.url);
      const { bindTo } = begun ?? {};
      const options = { origin: originOf(context), createsUsers: opened.createsUsers, bindTo };
      const session = await identifyAndSignIn(access, options, () =>
        opened.identify(searchParams, begun),
      );
      const response = signInPage(200, {
        title: "You are signed in",
        text: `You are signed in as ${session.user.username}.`,
        link: { path: begun?.returnTo ?? "/", text: "Continue" },
        follows: true,
      });
      const seconds = settings.SESSION_LIFETIME_HOURS * 3_600;
      response.headers.append("set-cookie", sessionCookie(context, session.token, seconds));
      return response;
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
    const response = jsonResponse({ url: begun.url });
    response.headers.append("set-cookie", signInCookie(context, begun.cookie));
    return response;
  });
  return router;
}

/** A page for browsers, which stands in no document. */
function browserRoute(path: string): RouteDefinition<"open"> {
  return { method: "get", path, access: "open", audience: "unlisted", responses: {} };
}

/** Creates the function that answers a browser: with a page for every refusal, and without the cookie after it. */
function pagesOf({ signIn, log }: Deps) {
  return async (
    context: RequestContext,
    answer: (opened: OpenSignIn) => Promise<Response>,
  ): Promise<Response> => {
    const isCallback = context.env.path === CALLBACK_PATH;
    let response: Response;
    try {
      response = await answer(requireSignIn(signIn));
    } catch (thrown) {
      if (thrown instanceof SignInRefusal && thrown.reason === "provider_unreachable") {
        log.warn({ cause: causeOf(thrown.cause ?? thrown) }, "the sign-in provider failed");
      }
      response = refusalPage(thrown);
    }
    if (isCallback) response.headers.append("set-cookie", signInCookie(context, ""));
    return response;
  };
}

function refusalPage(thrown: unknown): Response {
  const isForPerson = thrown instanceof SignInRefusal || thrown instanceof ServiceError;
  if (!isForPerson) throw thrown;
  const response = signInPage(thrown.status, {
    title: "You are not signed in",
    text: thrown.message,
    link: { path: LOGIN_PATH, text: "Sign in again" },
  });
  if (thrown instanceof ServiceError && thrown.retryAfterSeconds !== undefined) {
    response.headers.set("retry-after", String(Math.max(1, Math.ceil(thrown.retryAfterSeconds))));
  }
  return response;
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
  throw new ServiceError("overloaded", thrown.message, { cause: thrown });
}

/** A link with another site in it is an attack: it is counted and recorded as a failed login. */
async function refuseReturnTo(
  context: RequestContext,
  { access }: Deps,
  { createsUsers }: OpenSignIn,
): Promise<never> {
  const refusal = new SignInRefusal(
    400,
    "wrong_return_to",
    "The link that led here would have sent you to another site afterwards. `return_to` must be a path of this server.",
  );
  await identifyAndSignIn(access, { origin: originOf(context), createsUsers }, () =>
    Promise.reject(refusal),
  );
  throw refusal;
}

/** Returns the path, if it stays on this server in every reader's eyes; undefined otherwise. */
function readReturnTo(text: string): string | undefined {
  if (text.length > RETURN_MAX_LENGTH || !/^\/(?![/\\])[\x21-\x7e]*$/.test(text)) return undefined;
  const base = "http://here.invalid";
  if (text.includes("\\") || !URL.canParse(text, base)) return undefined;
  const { origin, pathname, search, hash } = new URL(text, base);
  // `/.//elsewhere` is such a path only before it is resolved.
  return origin === base && !pathname.startsWith("//") ? pathname + search + hash : undefined;
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

/** `Lax`, because the callback comes from the provider's site. An empty value removes it. */
function signInCookie({ env }: RequestContext, value: string): string {
  const secure = env.isHttps() ? "; Secure" : "";
  const seconds = value === "" ? 0 : SIGN_IN_SECONDS;
  return `${COOKIE}=${value}; Path=${FOLDER}; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`;
}

function readSignInCookie({ req }: RequestContext): string | undefined {
  for (const pair of (req.header("cookie") ?? "").split(";")) {
    const [name, value] = pair.trim().split("=", 2);
    if (name === COOKIE) return value;
  }
  return undefined;
}
