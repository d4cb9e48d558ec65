import { z } from "zod";
import { flag, fullUrl, name, words } from "./setting-types.ts";

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** Providers where everybody can have an account. A tenant of one has an issuer of its own. */
const PUBLIC_PROVIDER =
  /^https:\/\/(?:accounts\.google\.com|login\.microsoftonline\.com\/(?:common|organizations|consumers))(?:\/|$)/i;

/** An address that secrets are sent to. Kept as it is: providers compare it character by character. */
const secureUrl = fullUrl.refine(
  isSecure,
  "must begin with https:// (http:// only for this machine), without user name, query and fragment",
);

/** Sign-in with an OpenID Connect provider. */
export const signInSettings = {
  OIDC_ISSUER: secureUrl
    .optional()
    .describe(
      "Issuer of an OpenID Connect provider, such as https://login.example.com/realms/main; unset: passwords only.",
    ),
  OIDC_CLIENT_ID: name.optional().describe("This service's client id at the provider."),
  OIDC_CLIENT_SECRET: name
    .optional()
    .describe("The client's secret; unset for a public client, which PKCE protects alone."),
  OIDC_SCOPES: z
    .string()
    .regex(/(?:^|\s)openid(?:\s|$)/, "must hold the scope openid")
    .default("openid profile email")
    .describe(
      "Scopes that are requested, by blanks; some providers send groups only with one more.",
    ),
  OIDC_REDIRECT_URI: secureUrl
    .refine((url) => url.endsWith("/api/auth/oidc/callback"), "must end in /api/auth/oidc/callback")
    .optional()
    .describe(
      "Address of /api/auth/oidc/callback as browsers reach it; unset takes it from the request.",
    ),
  OIDC_USERNAME_CLAIM: name
    .optional()
    .describe("Claim with the name of a new user; unset: preferred_username, else email."),
  OIDC_ADMIN_CLAIM: name
    .optional()
    .describe("Claim with a person's groups or roles, such as groups or realm_access.roles."),
  OIDC_ADMIN_VALUES: words
    .prefault("")
    .describe(
      "Comma list of values of OIDC_ADMIN_CLAIM that make an administrator, at each login; empty leaves roles to administrators.",
    ),
  OIDC_ALLOWED_VALUES: words
    .prefault("")
    .describe(
      "Comma list of values of OIDC_ADMIN_CLAIM that may sign in, beside those of administrators; empty allows everyone.",
    ),
  OIDC_CREATE_USERS: flag
    .prefault("1")
    .describe("1 makes a user at the first sign-in; 0 lets only linked users in."),
  OIDC_ONLY: flag
    .prefault("0")
    .describe(
      "1 ends logins by password, except for an administrator within an hour of the command reset-password.",
    ),
};

type SignInSettings = z.output<z.ZodObject<typeof signInSettings>>;

/** Finds settings that mean nothing without another one. */
export function incompleteSignIn(settings: SignInSettings): { path: string[]; message: string }[] {
  const { OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_ADMIN_CLAIM } = settings;
  const lacks = (isMissing: boolean, name: string, message: string) =>
    isMissing ? [{ path: [name], message }] : [];
  const valued = (["OIDC_ADMIN_VALUES", "OIDC_ALLOWED_VALUES"] as const).filter(
    (name) => settings[name].length > 0,
  );
  return [
    ...lacks(
      OIDC_ISSUER !== undefined && OIDC_CLIENT_ID === undefined,
      "OIDC_CLIENT_ID",
      "must be set with OIDC_ISSUER",
    ),
    ...lacks(
      OIDC_ISSUER === undefined && settings.OIDC_ONLY,
      "OIDC_ONLY",
      "must be 0 without OIDC_ISSUER, because nobody could log in",
    ),
    ...valued.flatMap((name) =>
      lacks(OIDC_ADMIN_CLAIM === undefined, name, "needs OIDC_ADMIN_CLAIM, whose values it lists"),
    ),
  ];
}

/** Whether anybody with an account of a public provider becomes a user here. */
export function isOpenToEverybody(settings: SignInSettings): boolean {
  const {
    OIDC_ISSUER: issuer,
    OIDC_ALLOWED_VALUES: allowed,
    OIDC_CREATE_USERS: creates,
  } = settings;
  return issuer !== undefined && creates && allowed.length === 0 && PUBLIC_PROVIDER.test(issuer);
}

/** Whether plain HTTP is used, which only an issuer on this machine may. */
export function isInsecure(url: string): boolean {
  return new URL(url).protocol === "http:";
}

function isSecure(text: string): boolean {
  if (!URL.canParse(text)) return true;
  const { protocol, hostname, username, password, search, hash } = new URL(text);
  if (username + password + search + hash !== "") return false;
  return protocol === "https:" || LOOPBACK.test(hostname);
}
