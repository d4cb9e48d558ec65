import { createHmac, createSecretKey } from "node:crypto";
import type { Secret } from "./secret.ts";

/** HMAC-SHA256 of a key's text, base64url: what is stored and looked up instead of the key. */
export type HashApiKey = (keyText: string) => string;

export function hashApiKeyUnder(secret: Secret): HashApiKey {
  const key = createSecretKey(secret.derive("api-keys"));
  return (keyText) => createHmac("sha256", key).update(keyText).digest("base64url");
}
