import * as client from "openid-client";
import type { Settings } from "../../config/settings.ts";
import { isInsecure } from "../../config/sign-in-settings.ts";
import { limitWork } from "../../lib/concurrency.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { explainFailure, isUnreachable } from "./explain-failure.ts";
import { fetchLimited } from "./fetch-limited.ts";
import { findClaim, neededClaims } from "./read-person.ts";
import { SignInRefusal } from "./sign-in-refusal.ts";

/** What the browser's cookie keeps between the two requests of a sign-in. */
export interface SignInChecks {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly redirectUri: string;
}

/** An OpenID Connect provider. Everything throws a SignInRefusal. */
export interface Provider {
  /** Returns the provider's own name of itself. */
  readonly issuer: () => Promise<string>;
  /** Returns the address to which the browser is sent, and what to keep. */
  readonly begin: (
    redirectUri: string,
  ) => Promise<{ readonly url: string; readonly checks: SignInChecks }>;
  /**
   * Redeems the code with which the browser came back, and returns the claims of the verified token.
   *
   * @param query of the callback.
   */
  readonly finish: (query: URLSearchParams, checks: SignInChecks) => Promise<JsonObject>;
}

/** How far the provider's clock may be off. */
const CLOCK_TOLERANCE_SECONDS = 180;
const ANSWER_SECONDS = 10;
const DISCOVERY_KEPT_MS = 600_000;
/** After a failure the provider is asked again only after this time, however many people try. */
const FAILURE_KEPT_MS = 3_000;
const AT_ONCE_MAX = 16;
const WAITING_MAX = 64;

export type ProviderSettings = Pick<
  Settings,
  | "OIDC_CLIENT_ID"
  | "OIDC_CLIENT_SECRET"
  | "OIDC_SCOPES"
  | "OIDC_USERNAME_CLAIM"
  | "OIDC_ADMIN_CLAIM"
  | "OIDC_ADMIN_VALUES"
  | "OIDC_ALLOWED_VALUES"
>;

interface Discovered {
  readonly config: Promise<client.Configuration>;
  /** By the monotonic clock. */
  keptUntil: number;
}

export function createProvider(issuer: string, settings: ProviderSettings, clock: Clock): Provider {
  const inTurn = limitWork({ running: AT_ONCE_MAX, waiting: WAITING_MAX, refusal: tooMany });
  let discovered: Discovered | undefined;

  const discover = async (): Promise<client.Configuration> => {
    try {
      return await discoverProvider(issuer, settings, clock);
    } catch (thrown) {
      throw explainFailure(thrown, issuer);
    }
  };
  const discoverOnce = (): Promise<client.Configuration> => {
    if (discovered !== undefined && performance.now() < discovered.keptUntil) {
      return discovered.config;
    }
    const found: Discovered = { config: discover(), keptUntil: Number.POSITIVE_INFINITY };
    const keep = (durationMs: number) => {
      found.keptUntil = performance.now() + durationMs;
    };
    found.config.then(
      () => keep(DISCOVERY_KEPT_MS),
      () => keep(FAILURE_KEPT_MS),
    );
    discovered = found;
    return found.config;
  };
  return {
    issuer: async () => (await discoverOnce()).serverMetadata().issuer,
    // Not in turn: whoever begins waits for no more than one discovery, which all share.
    async begin(redirectUri) {
      const config = await discoverOnce();
      const checks = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier: client.randomPKCECodeVerifier(),
        redirectUri,
      };
      const url = client.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: settings.OIDC_SCOPES,
        state: checks.state,
        nonce: checks.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(checks.verifier),
        code_challenge_method: "S256",
      });
      return { url: url.href, checks };
    },
    finish: (query, checks) =>
      inTurn(async () => {
        // Found anew, with its keys, so that changed keys are known at once.
        const config = await discover();
        try {
          return await redeem(config, settings, { query, checks });
        } catch (thrown) {
          if (isUnreachable(thrown)) discovered = undefined;
          throw explainFailure(thrown, issuer);
        }
      }),
  };
}

async function discoverProvider(
  issuer: string,
  settings: ProviderSettings,
  clock: Clock,
): Promise<client.Configuration> {
  const { OIDC_CLIENT_ID: clientId = "", OIDC_CLIENT_SECRET: secret } = settings;
  const isPlain = isInsecure(issuer);
  const metadata = {
    [client.clockTolerance]: CLOCK_TOLERANCE_SECONDS,
    [client.clockSkew]: Math.round((clock.now() - Date.now()) / 1_000),
  };
  const config = await client.discovery(
    new URL(issuer),
    clientId,
    metadata,
    authentication(secret),
    {
      timeout: ANSWER_SECONDS,
      [client.customFetch]: fetchLimited,
      execute: [
        client.enableNonRepudiationChecks,
        ...(isPlain ? [client.allowInsecureRequests] : []),
      ],
    },
  );
  const { authorization_endpoint: entry = "" } = config.serverMetadata();
  const isEntry = URL.canParse(entry) && (isPlain ? /^https?:/ : /^https:/).test(entry);
  if (isEntry) return config;
  throw new SignInRefusal(
    502,
    "provider_unreachable",
    "The provider of OIDC_ISSUER names no secure address to sign in at. Tell an administrator.",
  );
}

/** By HTTP Basic, which every provider supports, or by the form where it names nothing else. */
function authentication(secret: string | undefined): client.ClientAuth {
  if (secret === undefined) return client.None();
  const [basic, post] = [client.ClientSecretBasic(secret), client.ClientSecretPost(secret)];
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
    return (methods.includes("client_secret_basic") ? basic : post)(server, ...rest);
  };
}

interface Callback {
  readonly query: URLSearchParams;
  readonly checks: SignInChecks;
}

async function redeem(
  config: client.Configuration,
  settings: ProviderSettings,
  { query, checks }: Callback,
): Promise<JsonObject> {
  const callback = new URL(checks.redirectUri);
  callback.search = query.toString();
  const tokens = await client.authorizationCodeGrant(config, callback, {
    pkceCodeVerifier: checks.verifier,
    expectedState: checks.state,
    expectedNonce: checks.nonce,
    idTokenExpected: true,
  });
  const claims = tokens.claims();
  if (claims === undefined) throw new Error("the provider sent no ID token");
  const own = claims as unknown as JsonObject;
  const isComplete = neededClaims(settings).every((name) => findClaim(own, name) !== undefined);
  if (isComplete || config.serverMetadata().userinfo_endpoint === undefined) return own;
  // Many providers send these claims only here.
  const more = await client.fetchUserInfo(config, tokens.access_token, claims.sub);
  return { ...(more as unknown as JsonObject), ...own };
}

function tooMany(): SignInRefusal {
  return new SignInRefusal(
    503,
    "provider_unreachable",
    "Too many people are signing in just now; try again in a moment.",
  );
}
