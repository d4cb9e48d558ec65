import { hkdfSync } from "node:crypto";
import { link, open, readFile, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Settings } from "../config/settings.ts";
import { makeFolder } from "../lib/folders/make-folder.ts";
import { StartRefusal } from "../lib/folders/start-refusal.ts";
import { randomBase62 } from "../lib/id.ts";

/** Each use of the secret has a derived key of its own, so that one reveals nothing about another. */
type SecretPurpose =
  | CredentialKind
  | "fingerprint"
  | "settings"
  | "seen-time"
  | "sealed-secrets"
  | "sign-in"
  | "workflow-secrets"
  | "data-roles"
  | "data-places"
  | "chats";
/** The kinds of credentials that are stored only as a hash. */
export type CredentialKind = "api-keys" | "bi-keys" | "service-tokens" | "sessions";

/**
 * The secret of this installation. It is stored outside the database, so that a copy of the database gives no access.
 */
export interface Secret {
  /** Returns 32 bytes for one purpose, always the same. */
  readonly derive: (purpose: SecretPurpose) => Buffer;
  /** Distinguishes secrets without revealing them. */
  readonly fingerprint: string;
}

const FILE_NAME = "secret";
const GENERATED_LENGTH = 43;
const LENGTH_MIN = 16;

/**
 * Reads APP_SECRET, or DATA_DIR/secret if it is not set. The file is created at the first start.
 *
 * @param known the fingerprint of the secret that the database was set up with. APP_SECRET may have come from a file, whose
 * line end is part of it here and was none there, or the other way round.
 */
export async function openSecret(
  settings: Pick<Settings, "APP_SECRET" | "DATA_DIR">,
  known?: string,
): Promise<Secret> {
  const text = settings.APP_SECRET ?? (await readOrCreate(resolve(settings.DATA_DIR)));
  const secret = secretOf(text);
  if (known === undefined || known === secret.fingerprint) return secret;
  const others = [text.trim(), `${text}\n`].map(secretOf);
  return others.find(({ fingerprint }) => fingerprint === known) ?? secret;
}

function secretOf(text: string): Secret {
  const derive = (purpose: SecretPurpose): Buffer =>
    Buffer.from(hkdfSync("sha256", text, "inference-gateway", purpose, 32));
  return { derive, fingerprint: derive("fingerprint").toString("base64url") };
}

async function readOrCreate(folder: string): Promise<string> {
  const path = join(folder, FILE_NAME);
  const present = await read(path);
  if (present !== undefined) return present;
  await makeFolder(folder);
  await create(path, randomBase62(GENERATED_LENGTH));
  // The file is read back, because another process may have created it first.
  const made = await read(path);
  if (made === undefined) throw new StartRefusal(`${path} could not be made.`);
  return made;
}

async function read(path: string): Promise<string | undefined> {
  let text: string;
  try {
    text = (await readFile(path, "utf8")).trim();
  } catch (thrown) {
    if (isCode(thrown, "ENOENT")) return undefined;
    throw thrown;
  }
  if (text.length >= LENGTH_MIN) return text;
  throw new StartRefusal(
    `${path} is damaged: it is shorter than ${LENGTH_MIN} characters. Restore it from a backup or set APP_SECRET.`,
  );
}

/** Creates the file atomically, and never overwrites another. */
async function create(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomBase62(8)}.draft`;
  const file = await open(draft, "wx", 0o600);
  try {
    await file.writeFile(`${text}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  try {
    await link(draft, path);
  } catch (thrown) {
    if (!isCode(thrown, "EEXIST")) throw thrown;
  } finally {
    await rm(draft, { force: true });
  }
}

function isCode(thrown: unknown, code: string): boolean {
  return thrown instanceof Error && "code" in thrown && thrown.code === code;
}
