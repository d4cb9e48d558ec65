import { createHmac } from "node:crypto";
import { unescape as decodePercent } from "node:querystring";
import type { HttpRequest, HttpResponse } from "../../lib/http/http-client.ts";
import { limitSignal } from "../../lib/http/limit-signal.ts";
import { parseRetryAfter } from "../../lib/http/parse-retry-after.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Job, JobOutcome } from "../topic.ts";

/**
 * A secret in the form of Standard Webhooks is this prefix and bytes in base64; any other secret is its own UTF-8 text.
 */
const ENCODED_SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/;

/** The part of a response that decides about the next try. */
export type WebhookResponse = Pick<HttpResponse, "status" | "header" | "cancel">;

export interface Webhook {
  /** The operator's own from the environment, which is trusted; or a user's, for a client that guards it. */
  readonly url: string;
  readonly secret: string | undefined;
  /** Sent beside those of every webhook. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly client: { readonly send: (request: HttpRequest) => Promise<WebhookResponse> };
  readonly clock: Clock;
  /** Timeout for the receiver's status. */
  readonly timeoutMs: number;
}

/**
 * Posts an event's body once. Of the response only the status and `Retry-After` are read, and redirects are not
 * followed. Never rejects.
 */
export async function postWebhook(
  webhook: Webhook,
  event: Pick<Job, "id" | "body">,
  stopping: AbortSignal,
): Promise<JobOutcome> {
  const signal = limitSignal(stopping, webhook.timeoutMs);
  try {
    const response = await webhook.client.send({
      method: "POST",
      ...composeRequest(webhook, event),
      signal,
    });
    response.cancel();
    return judge(response, webhook.clock.now());
  } catch (thrown) {
    if (stopping.aborted) return { kind: "released" };
    if (signal.aborted) {
      return { kind: "failed", error: `no answer within ${webhook.timeoutMs / 1_000} s` };
    }
    return { kind: "failed", error: `the connection failed: ${codeOf(thrown)}` };
  }
}

function composeRequest(
  { url, secret, headers: further, clock }: Webhook,
  event: Pick<Job, "id" | "body">,
) {
  const target = new URL(url);
  // Unlike decodeURIComponent it keeps a bare percent sign, as operators write it into a password.
  const credentials = `${decodePercent(target.username)}:${decodePercent(target.password)}`;
  target.username = "";
  target.password = "";
  const body = JSON.stringify(event.body);
  const timestampSeconds = Math.floor(clock.now() / 1_000);
  const headers = {
    ...further,
    "content-type": "application/json",
    "user-agent": "inference-gateway",
    // Alerts are rare, and an idle connection that the receiver closes at that moment would cost a try.
    connection: "close",
    "webhook-id": event.id,
    "webhook-timestamp": String(timestampSeconds),
    ...(secret !== undefined && {
      "webhook-signature": signWebhook(secret, { id: event.id, timestampSeconds, body }),
    }),
    ...(credentials !== ":" && {
      authorization: `Basic ${Buffer.from(credentials).toString("base64")}`,
    }),
  };
  return { url: target.href, headers, body };
}

function judge(response: WebhookResponse, now: number): JobOutcome {
  const { status } = response;
  if (status >= 200 && status < 300) return { kind: "done" };
  if (status === 410) return { kind: "refused", error: "answered 410: it wants no more" };
  const isRedirect = status >= 300 && status < 400;
  return {
    kind: "failed",
    error: `answered ${status}${isRedirect ? ": redirects are not followed" : ""}`,
    retryAfterSeconds: parseRetryAfter(response.header("retry-after"), now),
  };
}

/** Returns the runtime's code of the error; its message would contain the address. */
function codeOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return "unknown";
  return "code" in thrown && typeof thrown.code === "string" ? thrown.code : thrown.name;
}

interface SignedParts {
  readonly id: string;
  readonly timestampSeconds: number;
  readonly body: string;
}

/** Returns the value of `webhook-signature` as Standard Webhooks defines it: `v1,` and the HMAC-SHA256 in base64. */
function signWebhook(secret: string, { id, timestampSeconds, body }: SignedParts): string {
  const encoded = ENCODED_SECRET.exec(secret)?.[1];
  const key = encoded === undefined ? Buffer.from(secret) : Buffer.from(encoded, "base64");
  const digest = createHmac("sha256", key).update(`${id}.${timestampSeconds}.${body}`);
  return `v1,${digest.digest("base64")}`;
}
