import type { Settings } from "../../config/settings.ts";
import type { Role } from "../../core/callers/caller.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../lib/json/json.ts";
import { USERNAME } from "../users/user.ts";
import { SignInRefusal } from "./sign-in-refusal.ts";

export type ClaimSettings = Pick<
  Settings,
  "OIDC_USERNAME_CLAIM" | "OIDC_ADMIN_CLAIM" | "OIDC_ADMIN_VALUES" | "OIDC_ALLOWED_VALUES"
>;

/** Who signs in, as the provider says. */
export interface Person {
  readonly issuer: string;
  readonly subject: string;
  /** For a new user, in lower case. */
  readonly username: string;
  /** Undefined when the provider does not decide it. */
  readonly role: Role | undefined;
  /** False for somebody who may not sign in. */
  readonly isAllowed: boolean;
}

const SUBJECT_MAX_LENGTH = 255;
const VALUES_MAX = 10_000;

/** The claims that decide, by their settings. */
export function neededClaims(settings: ClaimSettings): readonly string[] {
  const { OIDC_ADMIN_CLAIM: groups } = settings;
  return [...(groups === undefined ? [] : [groups]), settings.OIDC_USERNAME_CLAIM ?? DEFAULT_NAME];
}

const DEFAULT_NAME = "preferred_username";

/**
 * Reads the claims of a verified token. Throws a SignInRefusal that names the setting for claims that are missing or of
 * another form.
 */
export function readPerson(claims: JsonObject, settings: ClaimSettings): Person {
  const { iss: issuer, sub: subject } = claims;
  if (typeof issuer !== "string" || !isSubject(subject)) {
    throw unusable("sub", "OIDC_ISSUER", "it identifies the account");
  }
  return {
    issuer,
    subject,
    username: readUsername(claims, settings),
    ...readGrant(claims, settings),
  };
}

/** Returns the value of a claim: by its whole name, else by the path that dots make. */
export function findClaim(claims: JsonObject, name: string): JsonValue | undefined {
  if (Object.hasOwn(claims, name)) return claims[name];
  let found: JsonValue | undefined = claims;
  for (const part of name.split(".")) {
    found = isJsonObject(found) && Object.hasOwn(found, part) ? found[part] : undefined;
  }
  return found;
}

function isSubject(subject: unknown): subject is string {
  return (
    typeof subject === "string" &&
    subject !== "" &&
    subject.length <= SUBJECT_MAX_LENGTH &&
    /^[\x20-\x7e]+$/.test(subject)
  );
}

function readUsername(claims: JsonObject, { OIDC_USERNAME_CLAIM: set }: ClaimSettings): string {
  const named = set ?? (findClaim(claims, DEFAULT_NAME) === undefined ? "email" : DEFAULT_NAME);
  const username = findClaim(claims, named);
  if (typeof username === "string" && USERNAME.test(username)) return username.toLowerCase();
  throw unusable(
    named,
    "OIDC_USERNAME_CLAIM",
    "a user's name is one text of 1 to 64 ASCII letters, digits or . _ @ + -, of which the first is a letter or a digit",
  );
}

function readGrant(
  claims: JsonObject,
  settings: ClaimSettings,
): Pick<Person, "role" | "isAllowed"> {
  const { OIDC_ADMIN_CLAIM: claim, OIDC_ADMIN_VALUES: admins } = settings;
  if (claim === undefined) return { role: undefined, isAllowed: true };
  const values = readValues(claims, claim);
  const isAdmin = admins.some((value) => values.has(value));
  const { OIDC_ALLOWED_VALUES: allowed } = settings;
  const isAllowed = allowed.length === 0 || isAdmin || allowed.some((value) => values.has(value));
  if (admins.length === 0) return { role: undefined, isAllowed };
  return { role: isAdmin ? "admin" : "user", isAllowed };
}

/** A person without groups may lack the claim. */
function readValues(claims: JsonObject, claim: string): ReadonlySet<string> {
  const value = findClaim(claims, claim);
  if (value === undefined) {
    // Entra names the claim here when there are too many groups to send.
    if (isJsonObject(claims["_claim_names"]) && claim in claims["_claim_names"]) {
      throw unusable(claim, "OIDC_ADMIN_CLAIM", "the provider sent only a reference to it");
    }
    return new Set();
  }
  const values = typeof value === "string" ? [value] : value;
  const isList =
    Array.isArray(values) &&
    values.length <= VALUES_MAX &&
    values.every((one): one is string => typeof one === "string");
  if (isList) return new Set(values);
  throw unusable(claim, "OIDC_ADMIN_CLAIM", "it must be a text or a list of texts");
}

function unusable(claim: string, setting: string, rule: string): SignInRefusal {
  return new SignInRefusal(
    403,
    "unusable_claims",
    `The provider's claim ${JSON.stringify(claim)} is missing or cannot be used: ${rule}. An administrator can set ${setting}.`,
    { details: { claim, setting } },
  );
}
