import type { OpenSignIn } from "../../access/sign-in/open-sign-in.ts";
import { type BegunSignIn, SIGN_IN_SECONDS } from "../../access/sign-in/open-sign-in.ts";
import type { RequestContext } from "./routes/route.ts";

const NAME = "gateway_sign_in_";
/** With this prefix browsers take a cookie only from this very host, by https, and for all of its paths. */
const HOST_PREFIX = "__Host-";
const STATE_SHOWN = 8;
/** The sign-ins that a browser may have begun, one in each tab. */
const COOKIES_MAX = 5;

/** Returns the sign-in with this state, if this browser began it. */
export function readBegun(
  context: RequestContext,
  opened: Pick<OpenSignIn, "readCookie">,
  state: string,
): BegunSignIn | undefined {
  const name = nameOf(context, state);
  const pair = pairsOf(context).find((one) => one.name === name);
  const begun = opened.readCookie(pair?.value);
  return begun?.state === state ? begun : undefined;
}

/** Returns the lines of `Set-Cookie` that keep a new sign-in. Beyond the maximum they remove the oldest ones. */
export function keepBegun(
  context: RequestContext,
  opened: Pick<OpenSignIn, "readCookie">,
  { state, cookie }: { readonly state: string; readonly cookie: string },
): readonly string[] {
  const others = pairsOf(context)
    .map(({ name, value }) => ({ name, expiresAt: opened.readCookie(value)?.expiresAt ?? 0 }))
    .sort((one, other) => other.expiresAt - one.expiresAt);
  const tooMany = others.slice(COOKIES_MAX - 1).map(({ name }) => line(context, name, ""));
  return [...tooMany, line(context, nameOf(context, state), cookie)];
}

/** Returns the line of `Set-Cookie` that removes a sign-in. */
export function forgetBegun(context: RequestContext, { state }: Pick<BegunSignIn, "state">) {
  return line(context, nameOf(context, state), "");
}

/** Returns the value of a cookie. */
export function readCookie({ req }: RequestContext, wanted: string): string | undefined {
  return readPairs(req.header("cookie")).find(({ name }) => name === wanted)?.value;
}

function nameOf({ env }: RequestContext, state: string): string {
  return `${env.isHttps() ? HOST_PREFIX : ""}${NAME}${state.slice(0, STATE_SHOWN)}`;
}

function pairsOf({ req, env }: RequestContext) {
  const prefix = `${env.isHttps() ? HOST_PREFIX : ""}${NAME}`;
  const own = readPairs(req.header("cookie")).filter(({ name }) => name.startsWith(prefix));
  // A name that this server did not give must not get into a line of `Set-Cookie`.
  return own.filter(({ name }) => /^[\w-]{8}$/.test(name.slice(prefix.length)));
}

function readPairs(header = ""): readonly { readonly name: string; readonly value: string }[] {
  return header.split(";").map((pair) => {
    const [name = "", value = ""] = pair.trim().split("=", 2);
    return { name, value };
  });
}

/** `Lax`, because the callback comes from the provider's site. An empty value removes it. */
function line({ env }: RequestContext, name: string, value: string): string {
  const secure = env.isHttps() ? "; Secure" : "";
  const seconds = value === "" ? 0 : SIGN_IN_SECONDS;
  return `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`;
}
