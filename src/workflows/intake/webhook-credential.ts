import { createHash, createHmac, timingSafeEqual } from "node:crypto";

/** A sender's clock may be off by this. */
const TOLERANCE_SECONDS = 300;
const WEBHOOK_SECRET = /^whk_[\x21-\x7e]{1,256}$/;
const BEARER_SECRET = /^bearer +(whk_[\x21-\x7e]{1,256})$/i;
const HUB_SIGNATURE = /^sha256=([0-9a-f]{64})$/i;
const TIMESTAMP = /^\d{1,12}$/;
/** Signatures that one header may list while a secret is exchanged. */
const SIGNATURES_MAX = 8;

/** How a sender shows that it knows a webhook's secret: by the secret itself, or by a signature of the body under it. */
export type WebhookCredential =
  | { readonly kind: "secret"; readonly secret: string }
  | {
      readonly kind: "standard";
      readonly id: string;
      readonly timestamp: string;
      readonly signatures: string;
    }
  | { readonly kind: "hub"; readonly signature: string };

/** Finds the webhook's own credential in a request; undefined when there is none. The plain secret counts first. */
export function readCredential(headers: Headers): WebhookCredential | undefined {
  const bearer = BEARER_SECRET.exec(headers.get("authorization") ?? "")?.[1];
  const plain = bearer ?? headers.get("x-webhook-secret");
  if (plain !== null && plain !== undefined) return { kind: "secret", secret: plain };
  const signatures = headers.get("webhook-signature");
  if (signatures !== null) {
    const id = headers.get("webhook-id") ?? "";
    const timestamp = headers.get("webhook-timestamp") ?? "";
    return { kind: "standard", id, timestamp, signatures };
  }
  const signature = headers.get("x-hub-signature-256");
  return signature === null ? undefined : { kind: "hub", signature };
}

/** Whether the secret that was sent is the webhook's. Takes equally long for every text. */
export function isSecret(sent: string, secret: string): boolean {
  return isEqual(digest(sent), digest(secret)) && WEBHOOK_SECRET.test(sent);
}

/**
 * Whether one of the signatures is that of the body under the secret, as Standard Webhooks defines it
 * (standardwebhooks.com): `v1,` and base64 of HMAC-SHA256 over `id.timestamp.body`. The key is the secret's own text, so
 * a library that wants bytes in base64 takes `whsec_` and the base64 of that text.
 * @param now Unix milliseconds.
 */
export function isStandardSignature(
  { id, timestamp, signatures }: Extract<WebhookCredential, { readonly kind: "standard" }>,
  { secret, body, now }: Signed,
): boolean {
  const isTimely =
    TIMESTAMP.test(timestamp) && Math.abs(now / 1_000 - Number(timestamp)) <= TOLERANCE_SECONDS;
  const wanted = createHmac("sha256", secret)
    .update(`${id}.${timestamp}.`)
    .update(body)
    .digest("base64");
  let isFound = false;
  for (const signature of signatures.split(" ").slice(0, SIGNATURES_MAX)) {
    isFound = isEqual(digest(signature), digest(`v1,${wanted}`)) || isFound;
  }
  return isFound && isTimely && id !== "";
}

/**
 * Whether `x-hub-signature-256` is that of the body under the secret: `sha256=` and HMAC-SHA256 of the body in
 * hexadecimal digits, as GitHub signs (docs.github.com, "Validating webhook deliveries"). It carries no time.
 */
export function isHubSignature(signature: string, { secret, body }: Omit<Signed, "now">): boolean {
  const sent = HUB_SIGNATURE.exec(signature)?.[1]?.toLowerCase() ?? "";
  const wanted = createHmac("sha256", secret).update(body).digest("hex");
  return isEqual(digest(sent), digest(wanted));
}

export interface Signed {
  readonly secret: string;
  /** As it arrived. */
  readonly body: Uint8Array;
  readonly now: number;
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function isEqual(first: Buffer, second: Buffer): boolean {
  return timingSafeEqual(first, second);
}
