import { limitSignal } from "../http/limit-signal.ts";
import { untilAborted } from "../until-aborted.ts";
import { parseAllowList } from "./egress-allow-list.ts";
import { EgressError } from "./egress-error.ts";
import { type EgressTarget, findTarget, type ResolveHost, resolveHost } from "./egress-target.ts";
import { createLookups } from "./lookups.ts";
import type { PinnedResponse } from "./pinned-request.ts";
import { sendToTarget, toEgressError } from "./send-to-target.ts";

export interface EgressOptions {
  /** Private hosts, addresses and CIDR ranges that are allowed. */
  readonly allow: readonly string[];
  readonly resolve?: ResolveHost;
}

export interface EgressLimits {
  /** The value of the `accept` header. */
  readonly accept: string;
  readonly maxBytes: number;
  /** For the whole fetch: name resolution, redirects and body. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface Fetched {
  readonly bytes: Uint8Array;
  /** As the server declares it, in lower case and without parameters. It may be wrong. */
  readonly mediaType: string | undefined;
}

export interface EgressRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Sent beside those that the connection needs, which they cannot replace. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Closes the connection at once: while it is made, while headers are awaited, in the middle of the body. */
  readonly signal: AbortSignal;
  /** For name resolution and the connection with its TLS handshake. */
  readonly connectTimeoutMs: number;
  /** Of the response's body. */
  readonly maxBytes: number;
  /** Of the response's head. Default: 16 KiB. */
  readonly maxHeaderBytes?: number;
}

/** A response whose body is still unread. Read it or cancel it: the connection stays open until then. */
export interface EgressResponse {
  readonly status: number;
  /** Takes a name in lower case. */
  readonly header: (name: string) => string | undefined;
  /**
   * Arrives as the server sends it. Rejects with an `EgressError` if it is too large or its connection breaks, or with
   * the reason of the signal.
   */
  readonly body: AsyncIterable<Uint8Array>;
  readonly cancel: () => void;
}

/** Reaches user-supplied addresses. */
export interface Egress {
  /** Follows redirects, each of which is checked. Rejects with an `EgressError`, or with the reason of the signal. */
  readonly fetch: (url: string, limits: EgressLimits) => Promise<Fetched>;
  /**
   * Sends one request and follows no redirect. Each request has a connection of its own. The caller limits its time.
   * Rejects with an `EgressError`, or with the reason of the signal.
   */
  readonly send: (url: string, request: EgressRequest) => Promise<EgressResponse>;
  /** Rejects as `send` would before it connects. */
  readonly check: (url: string, signal: AbortSignal) => Promise<void>;
}

const MOST_REDIRECTS = 3;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const MAX_HEADER_BYTES = 16_384;
const CONNECT_SHARE = 0.5;

/**
 * Builds the guard. It resolves names itself, checks every address, and connects to exactly the checked address. A name
 * that resolves differently a moment later therefore has no effect. Each redirect is checked again.
 */
export function createEgress({ allow, resolve = resolveHost }: EgressOptions): Egress {
  const allowed = parseAllowList(allow);
  const lookUp = createLookups(resolve);
  // A name lookup cannot be cancelled, so nobody waits for it after an abort.
  const find = (url: URL, signal: AbortSignal): Promise<EgressTarget> =>
    untilAborted(
      findTarget(url, allowed, (hostname) => lookUp(hostname, signal)),
      signal,
    );

  const follow = async (
    start: string,
    { accept, timeoutMs }: EgressLimits,
    signal: AbortSignal,
  ): Promise<PinnedResponse> => {
    const endsAt = performance.now() + timeoutMs;
    let url = parseUrl(start, undefined);
    for (let redirectsLeft = MOST_REDIRECTS; ; redirectsLeft--) {
      const target = await find(url, signal);
      // One address may take all the time; of several, those that swallow everything leave half of it for the answer.
      const connectTimeoutMs = (endsAt - performance.now()) * CONNECT_SHARE;
      const response = await sendToTarget(target, {
        method: "GET",
        headers: { accept },
        signal,
        maxHeaderBytes: MAX_HEADER_BYTES,
        ...(target.addresses.length > 1 && { connectTimeoutMs }),
      });
      if (!REDIRECTS.has(response.status)) return response;
      response.cancel();
      if (redirectsLeft === 0) throw new EgressError("redirects", "it redirects too often");
      url = parseUrl(response.header("location"), url);
    }
  };

  return {
    async fetch(url, limits) {
      const time = AbortSignal.timeout(limits.timeoutMs);
      const signal = AbortSignal.any([limits.signal, time]);
      try {
        const response = await follow(url, limits, signal);
        return await readResponse(response, limits.maxBytes);
      } catch (thrown) {
        if (limits.signal.aborted) throw limits.signal.reason;
        throw time.aborted ? timedOut(limits.timeoutMs, thrown) : toEgressError(thrown);
      }
    },

    async check(url, signal) {
      await find(parseUrl(url, undefined), signal);
    },

    async send(url, { connectTimeoutMs, maxHeaderBytes = MAX_HEADER_BYTES, ...request }) {
      const { signal } = request;
      const beganAt = performance.now();
      const finding = limitSignal(signal, connectTimeoutMs);
      try {
        const target = await find(parseUrl(url, undefined), finding);
        const timeLeft = connectTimeoutMs - (performance.now() - beganAt);
        const limits = { maxHeaderBytes, connectTimeoutMs: Math.max(1, timeLeft) };
        const { status, header, body, cancel } = await sendToTarget(target, {
          ...request,
          ...limits,
        });
        return { status, header, body: readBody(body, request), cancel };
      } catch (thrown) {
        if (signal.aborted) throw signal.reason;
        if (thrown instanceof EgressError) throw thrown;
        throw timedOut(connectTimeoutMs, thrown);
      }
    },
  };
}

function parseUrl(url: string | undefined, base: URL | undefined): URL {
  if (url !== undefined && URL.canParse(url, base)) return new URL(url, base);
  throw new EgressError(
    "invalid_url",
    base === undefined
      ? "it is not an http or https address"
      : "it redirects to an invalid address",
  );
}

async function* readBody(
  body: AsyncIterable<Uint8Array>,
  { signal, maxBytes }: Pick<EgressRequest, "signal" | "maxBytes">,
): AsyncGenerator<Uint8Array> {
  let length = 0;
  try {
    for await (const piece of body) {
      length += piece.length;
      if (length > maxBytes) throw tooLarge(maxBytes);
      yield piece;
    }
  } catch (thrown) {
    throw signal.aborted ? signal.reason : toEgressError(thrown);
  }
}

async function readResponse(response: PinnedResponse, maxBytes: number): Promise<Fetched> {
  const { status, header, body, cancel } = response;
  if (status < 200 || status > 299) {
    cancel();
    throw new EgressError("status", `its server answered with status ${status}`);
  }
  if (Number(header("content-length") ?? 0) > maxBytes) {
    cancel();
    throw tooLarge(maxBytes);
  }
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body) {
    length += piece.length;
    if (length > maxBytes) throw tooLarge(maxBytes);
    pieces.push(piece);
  }
  const mediaType = header("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
  return { bytes: Buffer.concat(pieces), mediaType };
}

function tooLarge(maxBytes: number): EgressError {
  return new EgressError("too_large", `it is larger than ${Math.floor(maxBytes / 2 ** 20)} MiB`);
}

function timedOut(timeoutMs: number, cause: unknown): EgressError {
  return new EgressError("timeout", `it did not answer within ${timeoutMs / 1000} seconds`, {
    cause,
  });
}
