import { createPublicKey, type KeyObject } from "node:crypto";
import type { Settings } from "../config/settings.ts";
import { StartRefusal } from "../lib/folders/start-refusal.ts";

/** The key that verifies licenses. */
export interface VerificationKey {
  readonly key: KeyObject;
  /** True for the vendor's key, false for one that the operator has set. */
  readonly isBuiltIn: boolean;
}

/**
 * The vendor's Ed25519 key, 32 bytes as base64url. No one holds the private half of this one: a vendor makes a pair
 * with `bun run license keygen` and puts its own public key here.
 */
const BUILT_IN_KEY = "_4HM8sQwZA3TpG_bH73t_oXrKUPwKn3G0KzUag-0w3Y";
const KEY_BYTES = 32;
/** The standard prefix of a raw key (RFC 8410), which identifies an Ed25519 key. */
const SPKI_HEAD = Buffer.from("302a300506032b6570032100", "hex");

/**
 * Returns the verification key of a server: LICENSE_PUBLIC_KEY only where that is allowed, because otherwise any
 * operator could sign licenses for the server. Throws a `StartRefusal` that names the setting.
 */
export function openVerificationKey(
  settings: Pick<Settings, "LICENSE_PUBLIC_KEY" | "ALLOW_LICENSE_PUBLIC_KEY">,
): VerificationKey {
  const { LICENSE_PUBLIC_KEY: setting, ALLOW_LICENSE_PUBLIC_KEY: isAllowed } = settings;
  if (setting === undefined || isAllowed) return readVerificationKey(setting);
  throw new StartRefusal(
    "LICENSE_PUBLIC_KEY replaces the key that licenses are verified with in development and tests only. " +
      "Unset it; a build for another vendor has that vendor's key in src/license/verification-key.ts.",
  );
}

/** Reads a public key; undefined gives the built-in one. Throws a `StartRefusal` that names the setting. */
export function readVerificationKey(setting: string | undefined): VerificationKey {
  const key = parsePublicKey(setting ?? BUILT_IN_KEY);
  if (key !== undefined) return { key, isBuiltIn: setting === undefined };
  throw new StartRefusal(
    "LICENSE_PUBLIC_KEY must be an Ed25519 public key: 32 bytes as base64url, 43 characters, " +
      "as `bun run license keygen` prints it.",
  );
}

/** Parses an Ed25519 public key from its 32 raw bytes as base64url; undefined for any other text. */
function parsePublicKey(text: string): KeyObject | undefined {
  const raw = Buffer.from(text, "base64url");
  if (raw.length !== KEY_BYTES || raw.toString("base64url") !== text) return undefined;
  return createPublicKey({ key: Buffer.concat([SPKI_HEAD, raw]), format: "der", type: "spki" });
}
