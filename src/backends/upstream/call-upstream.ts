import type { CallTrace } from "../../lib/call-trace.ts";
import type { CancelSignal } from "../../lib/cancellation.ts";
import type { HttpResponse, Route } from "../../lib/http/http-client.ts";
import { parseRetryAfter } from "../../lib/http/parse-retry-after.ts";
import type { WrittenForm } from "../../lib/multipart/write-multipart.ts";
import { isRefused } from "./connection-error.ts";
import type { Upstream } from "./upstream.ts";
import { noteOutcome, outcomeOfFailure, type UpstreamOutcome } from "./upstream-figures.ts";
import { callError, type UpstreamResponse, WatchedResponse } from "./upstream-response.ts";
import { CallWatch } from "./watch-call.ts";

export interface UpstreamCall {
  /** Relative to the address, with a leading slash. */
  readonly path: string;
  /** Headers of this call alone, in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** JSON text, sent with POST. Without a body the call is a GET. */
  readonly body?: string | undefined;
  /** A form instead of a JSON text. */
  readonly form?: WrittenForm | undefined;
  /** A stream ends after a silence; another answer only when its whole time is up. */
  readonly stream: boolean;
  readonly signal: CancelSignal;
  /** Sent to a server that joins traces, where requests are traced. */
  readonly trace?: CallTrace | undefined;
  /** A limit shorter than the upstream's own. Calls with one are side requests, not client calls. */
  readonly timeoutMs?: number | undefined;
  /** Selects the replica when the upstream has several; without it the least busy one takes the call. */
  readonly route?: Route | undefined;
}

const RETRIED_STATUSES: ReadonlySet<number> = new Set([429, 502, 503]);
const RETRY_PAUSE_MS = { least: 100, most: 300 };
/** A longer `Retry-After` is not retried here but passed on to the client. */
const LONGEST_RETRY_AFTER_SECONDS = 2;
const USER_AGENT = "inference-gateway";

/**
 * Calls an engine; resolves with its headers. A refused connection and the statuses 429, 502 and 503 are retried.
 * Rejects with a `ServiceError` when there is no response, or with the client's reason for leaving.
 */
export async function callUpstream(
  upstream: Upstream,
  call: UpstreamCall,
): Promise<UpstreamResponse> {
  const { limits } = upstream;
  const ended = countOnce(upstream, call);
  const watch = new CallWatch({
    signal: call.signal,
    timeoutMs: Math.min(call.timeoutMs ?? limits.timeoutMs, limits.timeoutMs),
    idleTimeoutMs: call.stream ? limits.idleTimeoutMs : undefined,
  });
  try {
    watch.waiting();
    const response = await sendWithRetries(upstream, call, watch);
    return new WatchedResponse(upstream, response, { watch, ended });
  } catch (thrown) {
    watch.close();
    const error = callError(upstream, thrown, watch);
    ended(outcomeOfFailure(thrown, error, watch.signal.aborted));
    throw error;
  }
}

/** Returns a function that counts the call's outcome on its first call only. */
function countOnce(
  { figures, clock }: Upstream,
  call: UpstreamCall,
): (outcome: UpstreamOutcome) => void {
  if (figures === undefined) return () => undefined;
  // Not the call itself: its body is not held until the end of the answer.
  const isOnTheSide = isQuestion(call);
  if (!isOnTheSide) figures.openCalls += 1;
  let isCounted = false;
  return (outcome) => {
    if (isCounted) return;
    isCounted = true;
    if (!isOnTheSide) figures.openCalls -= 1;
    noteOutcome(figures, outcome, { isQuestion: isOnTheSide, now: clock.now() });
  };
}

function isQuestion({ timeoutMs }: UpstreamCall): boolean {
  return timeoutMs !== undefined;
}

async function sendWithRetries(
  upstream: Upstream,
  call: UpstreamCall,
  watch: CallWatch,
): Promise<HttpResponse> {
  for (let retriesLeft = upstream.limits.retries; ; retriesLeft--) {
    // The runtimes notice an abort only from the next turn on.
    watch.signal.throwIfAborted();
    let pauseMs: number | undefined;
    try {
      const response = await send(upstream, call, watch.signal);
      pauseMs = retriesLeft > 0 ? retryPauseMs(upstream, response) : undefined;
      if (pauseMs === undefined) return response;
      response.cancel();
    } catch (thrown) {
      if (retriesLeft <= 0 || !isRefused(thrown)) throw thrown;
      pauseMs = randomPauseMs();
    }
    if (upstream.figures !== undefined && !isQuestion(call)) upstream.figures.retries += 1;
    await pause(pauseMs, watch.signal);
  }
}

function send(
  { client, replicas, address, headers, joinsTraces }: Upstream,
  call: UpstreamCall,
  signal: CancelSignal,
): Promise<HttpResponse> {
  const body = call.form?.bytes ?? call.body;
  const usual = ownHeaders(headers, call);
  const own = call.headers === undefined ? usual : { ...usual, ...call.headers };
  return (replicas ?? client).send({
    url: address + call.path,
    method: body === undefined ? "GET" : "POST",
    headers: joinsTraces && call.trace !== undefined ? { ...own, ...call.trace } : own,
    body,
    signal,
    route: call.route,
  });
}

/** The headers of calls with a JSON body are the same in every call, by the credential. */
const headersOfStreams = new WeakMap<Upstream["headers"], Upstream["headers"]>();
const headersOfAnswers = new WeakMap<Upstream["headers"], Upstream["headers"]>();

function ownHeaders(credential: Upstream["headers"], call: UpstreamCall): Upstream["headers"] {
  const kept = call.stream ? headersOfStreams : headersOfAnswers;
  const isJson = call.body !== undefined && call.form === undefined;
  const known = isJson ? kept.get(credential) : undefined;
  if (known !== undefined) return known;
  const type = isJson ? "application/json" : call.form?.contentType;
  const built = {
    ...credential,
    accept: accepted(call),
    "accept-encoding": "identity",
    "user-agent": USER_AGENT,
    ...(type !== undefined && { "content-type": type }),
  };
  if (isJson) kept.set(credential, built);
  return built;
}

function accepted({ stream, form }: UpstreamCall): string {
  if (form !== undefined) return "application/json, text/plain, text/event-stream";
  return stream ? "text/event-stream, application/x-ndjson" : "application/json";
}

/** Returns the pause before a retry; undefined when this response is final. */
function retryPauseMs({ clock }: Upstream, response: HttpResponse): number | undefined {
  if (!RETRIED_STATUSES.has(response.status)) return undefined;
  const asked = parseRetryAfter(response.header("retry-after"), clock.now());
  if (asked === undefined) return randomPauseMs();
  return asked <= LONGEST_RETRY_AFTER_SECONDS ? asked * 1000 : undefined;
}

/** Random, so that calls that were refused together are not retried together. */
function randomPauseMs(): number {
  const { least, most } = RETRY_PAUSE_MS;
  return least + Math.random() * (most - least);
}

function pause(pauseMs: number, signal: CancelSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, pauseMs);
    signal.addEventListener("abort", end, { once: true });
  });
}
