import { createHash, createHmac, pbkdf2, randomBytes } from "node:crypto";
import { promisify } from "node:util";
import type { Secret } from "../../access/secret.ts";

/** What tells the roles of this installation from all others of the PostgreSQL server. */
export interface RoleScope {
  /** The name of the gateway's database. A server has one of that name, and it belongs to one installation. */
  readonly database: string;
  /** The digest of the time of the first start: a restored or copied database has it too. */
  readonly installation: string;
  /** The digest of the key that passwords are derived from: another one after a change of APP_SECRET. */
  readonly secret: string;
  /** What the names of its roles begin with. */
  readonly prefix: string;
  readonly passwordKey: Buffer;
}

/** The comment of a role, which all replicas read: whose it is, and what it was made like. */
export interface RoleMark {
  readonly database: string;
  readonly installation: string;
  readonly secret: string;
  readonly principal: string;
  /** The digest of the role's definition. */
  readonly definition: string;
}

const PRODUCT = "inference-gateway";
/** All role names begin with it, whichever installation has made them. */
export const ROLE_PREFIX = "gw_";
const PREFIX_DIGITS = 8;
const DIGEST_DIGITS = 16;
const ITERATIONS = 4_096;
const derive = promisify(pbkdf2);

export function createScope(
  { secret, installedAt }: { readonly secret: Secret; readonly installedAt: number },
  database: string,
): RoleScope {
  const passwordKey = secret.derive("data-roles");
  const installation = digest(`${PRODUCT} ${installedAt}`).slice(0, DIGEST_DIGITS);
  const place = digest(JSON.stringify([installation, database])).slice(0, PREFIX_DIGITS);
  return {
    database,
    installation,
    secret: hmac(passwordKey, "fingerprint").toString("hex").slice(0, DIGEST_DIGITS),
    prefix: `${ROLE_PREFIX}${place}_`,
    passwordKey,
  };
}

/** At most 63 bytes, the longest name that PostgreSQL takes. */
export function roleName({ prefix }: RoleScope, principalId: string): string {
  return `${prefix}${principalId}`;
}

/** The password is derived and stored nowhere. */
export function rolePassword({ passwordKey, installation, database }: RoleScope, role: string) {
  return hmac(passwordKey, JSON.stringify([role, installation, database])).toString("base64url");
}

/**
 * Computes what the server stores of a password (RFC 5803), so that neither its log nor its statistics ever contain the
 * password.
 */
export async function scramVerifier(password: string): Promise<string> {
  const salt = randomBytes(16);
  const salted = await derive(password, salt, ITERATIONS, 32, "sha256");
  const storedKey = createHash("sha256").update(hmac(salted, "Client Key")).digest("base64");
  const serverKey = hmac(salted, "Server Key").toString("base64");
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString("base64")}$${storedKey}:${serverKey}`;
}

export function writeMark(
  { database, installation, secret }: RoleScope,
  principal: string,
  definition: readonly string[],
): string {
  const made = digest(JSON.stringify(definition)).slice(0, DIGEST_DIGITS);
  return JSON.stringify({
    ...{ by: PRODUCT, principal, database, installation, secret },
    definition: made,
  });
}

/** Undefined for the comment of a role that no gateway has made. */
export function readMark(comment: string | null): RoleMark | undefined {
  let mark: unknown;
  try {
    mark = JSON.parse(comment ?? "");
  } catch {
    return undefined;
  }
  return isMark(mark) ? mark : undefined;
}

function isMark(value: unknown): value is RoleMark {
  if (typeof value !== "object" || value === null) return false;
  const mark: Record<string, unknown> = { ...value };
  const texts = ["database", "installation", "secret", "principal", "definition"];
  return mark["by"] === PRODUCT && texts.every((name) => typeof mark[name] === "string");
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}
