import type { Egress, EgressResponse } from "../../lib/egress/egress.ts";
import { EgressError, type EgressReason } from "../../lib/egress/egress-error.ts";
import { limitSignal } from "../../lib/http/limit-signal.ts";
import { StepFailure } from "../runs/run.ts";
import { MAX_BODY_BYTES } from "./request-fields.ts";

export interface AddressCall {
  readonly url: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Reads an answer. Its body is bounded, and cancelled if it is not read. */
export type ReadAnswer<Result> = (response: EgressResponse) => Promise<Result>;

const CONNECT_TIMEOUT_MS = 10_000;
const MOST_REDIRECTS = 3;
/** A longer `Retry-After` counts as this. */
const MAX_RETRY_AFTER_SECONDS = 600;
const LOOP_STATUS = 409;
const LOOP_CODE = '"code":"workflow_loop"';
const MAX_REFUSAL_BYTES = 4_096;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const RETRYABLE: ReadonlySet<number> = new Set([408, 425, 429]);
const RETRYABLE_REASONS: ReadonlySet<EgressReason> = new Set(["timeout", "failed"]);

/**
 * Calls an address through the guard and reads its answer. A GET is redirected within its host, nothing else is.
 * Rejects with a `StepFailure`, without the address, headers or bodies in it, or with the signal's reason.
 */
export async function callAddress<Result>(
  egress: Egress,
  call: AddressCall,
  read: ReadAnswer<Result>,
): Promise<Result> {
  const signal = limitSignal(call.signal, call.timeoutMs);
  try {
    const response = await follow(egress, call, signal);
    try {
      return await read(response);
    } finally {
      response.cancel();
    }
  } catch (thrown) {
    call.signal.throwIfAborted();
    if (thrown instanceof StepFailure) throw thrown;
    if (signal.aborted) throw timedOut(call.timeoutMs);
    if (thrown instanceof EgressError) throw egressFailure(thrown);
    throw thrown;
  }
}

async function follow(
  egress: Egress,
  { url: start, method, headers, body }: AddressCall,
  signal: AbortSignal,
): Promise<EgressResponse> {
  let url = start;
  for (let redirectsLeft = MOST_REDIRECTS; ; redirectsLeft -= 1) {
    const response = await egress.send(url, {
      ...{ method, headers, signal },
      ...(body !== undefined && { body }),
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      maxBytes: MAX_BODY_BYTES,
    });
    if (response.status >= 200 && response.status <= 299) return response;
    if (await isLoop(response)) throw loopFailure();
    response.cancel();
    if (!REDIRECTS.has(response.status)) throw statusFailure(response);
    const next = redirectsLeft > 0 && method === "GET" ? redirectOf(response, url) : undefined;
    if (next === undefined) throw redirected();
    url = next;
  }
}

/** Undefined for another host: secrets in headers were meant for the first. */
function redirectOf(response: EgressResponse, from: string): string | undefined {
  const location = response.header("location");
  if (location === undefined || !URL.canParse(location, from)) return undefined;
  const next = new URL(location, from);
  return next.origin === new URL(from).origin ? next.href : undefined;
}

/** Whether the gateway itself answered that the call would be a loop: the step then fails as one that starts runs. */
async function isLoop({ status, body }: EgressResponse): Promise<boolean> {
  if (status !== LOOP_STATUS) return false;
  let text = "";
  for await (const piece of body) {
    text += Buffer.from(piece).toString("latin1");
    if (text.length > MAX_REFUSAL_BYTES) return false;
  }
  return text.includes(LOOP_CODE);
}

function redirected(): StepFailure {
  return new StepFailure(
    "redirected",
    "The address redirects elsewhere, which is not followed. Call the address that it leads to.",
  );
}

function statusFailure({ status, header }: EgressResponse): StepFailure {
  const isRetryable = status >= 500 || RETRYABLE.has(status);
  return new StepFailure(`http_${status}`, `The address answered with status ${status}.`, {
    isRetryable,
    retryAfterSeconds: isRetryable ? retryAfterOf(header("retry-after")) : undefined,
  });
}

/** Seconds, or a date. */
function retryAfterOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seconds = /^\d{1,9}$/.test(text)
    ? Number(text)
    : Math.ceil((Date.parse(text) - Date.now()) / 1_000);
  if (Number.isNaN(seconds)) return undefined;
  return Math.min(MAX_RETRY_AFTER_SECONDS, Math.max(0, seconds));
}

function loopFailure(): StepFailure {
  return new StepFailure(
    "loop",
    "The address starts a workflow that is already in the chain of runs that led here; a workflow may not start itself.",
  );
}

function timedOut(timeoutMs: number): StepFailure {
  const text = `The address did not answer within ${timeoutMs / 1_000} seconds.`;
  return new StepFailure("http_timeout", text, { isRetryable: true });
}

function egressFailure(thrown: EgressError): StepFailure {
  const { reason, message } = thrown;
  return new StepFailure(`address_${reason}`, `The address cannot be called: ${message}.`, {
    isRetryable: RETRYABLE_REASONS.has(reason),
    cause: thrown,
  });
}
