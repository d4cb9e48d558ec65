import { createHmac } from "node:crypto";

/** Secrets of the Standard Webhooks form are bytes in base64 behind this; any other secret is its own UTF-8 text. */
const ENCODED_SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/;

export interface SignedParts {
  readonly id: string;
  readonly timestampSeconds: number;
  readonly body: string;
}

/** The value of `webhook-signature` as Standard Webhooks has it: `v1,` and the HMAC-SHA256 in base64. */
export function signWebhook(secret: string, { id, timestampSeconds, body }: SignedParts): string {
  const encoded = ENCODED_SECRET.exec(secret)?.[1];
  const key = encoded === undefined ? Buffer.from(secret) : Buffer.from(encoded, "base64");
  const digest = createHmac("sha256", key).update(`${id}.${timestampSeconds}.${body}`);
  return `v1,${digest.digest("base64")}`;
}
