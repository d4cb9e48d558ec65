import type { Settings } from "../../config/settings.ts";
import type { Base } from "../../db/base.ts";
import { createSecretBox } from "../../lib/secret-box.ts";
import type { Secret } from "../secret.ts";
import { createAddressPace, createRecordPace } from "./address-pace.ts";
import { createProvider, type Provider, type SignInChecks } from "./provider.ts";
import { type ClaimSettings, type Person, readPerson } from "./read-person.ts";
import { SignInRefusal } from "./sign-in-refusal.ts";
import { createSpentStates } from "./spent-states.ts";

/** A sign-in that has begun, as the browser's cookie keeps it, sealed. */
export interface BegunSignIn extends SignInChecks {
  /** Where the browser goes in the end: a path of this server. */
  readonly returnTo: string;
  /** The session that asked for its user to be linked. */
  readonly bindTo?: { readonly sessionId: string; readonly userId: string };
  /** Unix milliseconds. */
  readonly expiresAt: number;
}

export interface OpenSignIn {
  readonly provider: Provider;
  readonly createsUsers: boolean;
  /** OIDC_REDIRECT_URI. */
  readonly redirectUri: string | undefined;
  /** Begins a sign-in. Returns the address to send the browser to, and its cookie. */
  readonly begin: (
    asked: Pick<BegunSignIn, "returnTo" | "redirectUri" | "bindTo">,
  ) => Promise<{ readonly url: string; readonly state: string; readonly cookie: string }>;
  /** Returns what the cookie keeps; undefined when it is missing, forged or too old. */
  readonly readCookie: (cookie: string | undefined) => BegunSignIn | undefined;
  /** Throws `rate_limit_exceeded` for an address that comes back too often. */
  readonly keepPace: (address: string | null) => void;
  /** Returns whether one more refusal that needs no sign-in is recorded for the address. */
  readonly isRecorded: (address: string | null) => boolean;
  /** Identifies the person with whom the browser came back. Rejects with a SignInRefusal. */
  readonly identify: (query: URLSearchParams, begun: BegunSignIn | undefined) => Promise<Person>;
}

/** How long a person may take at the provider. */
export const SIGN_IN_SECONDS = 600;
/** What the sealed text is for. */
const OWNER = "sign-in";

/** Returns undefined without OIDC_ISSUER. Nothing is asked of the provider before somebody signs in. */
export function openSignIn(
  { settings, clock }: Pick<Base, "settings" | "clock">,
  secret: Secret,
): OpenSignIn | undefined {
  const { OIDC_ISSUER: issuer } = settings;
  if (issuer === undefined) return undefined;
  const provider = createProvider(issuer, settings, clock);
  const spend = createSpentStates(clock);
  const box = createSecretBox(secret.derive("sign-in"));
  return {
    provider,
    createsUsers: settings.OIDC_CREATE_USERS,
    redirectUri: settings.OIDC_REDIRECT_URI,
    async begin({ returnTo, redirectUri, bindTo }) {
      const { url, checks } = await provider.begin(redirectUri);
      const expiresAt = clock.now() + SIGN_IN_SECONDS * 1_000;
      const begun: BegunSignIn = { ...checks, returnTo, ...(bindTo && { bindTo }), expiresAt };
      return { url, state: checks.state, cookie: box.seal(JSON.stringify(begun), OWNER) };
    },
    readCookie(cookie) {
      const text = cookie === undefined ? undefined : box.open(cookie, OWNER);
      // The seal vouches for the form.
      const begun = text === undefined ? undefined : (JSON.parse(text) as BegunSignIn);
      return begun !== undefined && begun.expiresAt > clock.now() ? begun : undefined;
    },
    keepPace: createAddressPace(clock),
    isRecorded: createRecordPace(clock),
    identify: (query, begun) => identify({ provider, settings, spend }, query, begun),
  };
}

interface Identifying {
  readonly provider: Provider;
  readonly settings: ClaimSettings & Pick<Settings, "OIDC_ISSUER">;
  readonly spend: ReturnType<typeof createSpentStates>;
}

async function identify(
  { provider, settings, spend }: Identifying,
  query: URLSearchParams,
  begun: BegunSignIn | undefined,
): Promise<Person> {
  // A link that somebody else has made brings a state that this browser did not begin with.
  const isOwn = begun !== undefined && query.getAll("state").join() === begun.state;
  if (!isOwn || !spend(begun)) {
    throw new SignInRefusal(
      403,
      "wrong_state",
      "This sign-in was not begun in this browser, took too long, or is over. Begin again.",
    );
  }
  return readPerson(await provider.finish(query, begun), settings);
}
