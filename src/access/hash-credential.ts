import { createHmac, createSecretKey } from "node:crypto";
import type { CredentialKind, Secret } from "./secret.ts";

/**
 * Computes the HMAC-SHA256 of a credential's text, in base64url, which is stored and looked up instead of the
 * credential.
 */
export type HashCredential = (text: string) => string;

export function hashCredentialUnder(secret: Secret, kind: CredentialKind): HashCredential {
  const key = createSecretKey(secret.derive(kind));
  return (text) => createHmac("sha256", key).update(text).digest("base64url");
}
