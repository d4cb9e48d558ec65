import { takeTurns } from "../concurrency.ts";
import { parseAllowList } from "./egress-allow-list.ts";
import { EgressError } from "./egress-error.ts";
import { type EgressTarget, findTarget, type ResolveHost, resolveHost } from "./egress-target.ts";
import { type PinnedResponse, sendPinned } from "./pinned-request.ts";

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

/** Fetches user-supplied addresses. */
export interface Egress {
  /** Rejects with an `EgressError`, or with the reason of the signal. */
  readonly fetch: (url: string, limits: EgressLimits) => Promise<Fetched>;
}

const MOST_REDIRECTS = 3;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** The number of addresses of one host that are tried. */
const MOST_ADDRESSES = 4;

/**
 * Builds the guard. It resolves names itself, checks every address, and connects to exactly the checked address. A name
 * that resolves differently a moment later therefore has no effect. Each redirect is checked again.
 */
export function createEgress({ allow, resolve = resolveHost }: EgressOptions): Egress {
  const allowed = parseAllowList(allow);
  const inTurn = takeTurns();
  // The runtime resolves only a few names at a time, and calls to models share these slots. Slow user-supplied names
  // must not take all of them, and an aborted lookup must take none.
  const resolveInTurn = (hostname: string, signal: AbortSignal) =>
    inTurn(async () => {
      signal.throwIfAborted();
      return resolve(hostname);
    });

  const follow = async (
    start: string,
    limits: EgressLimits,
    signal: AbortSignal,
  ): Promise<PinnedResponse> => {
    let url = parseUrl(start, undefined);
    for (let redirectsLeft = MOST_REDIRECTS; ; redirectsLeft--) {
      const finding = findTarget(url, allowed, (hostname) => resolveInTurn(hostname, signal));
      const target = await unlessAborted(finding, signal);
      const response = await sendToTarget(target, limits.accept, signal);
      if (!REDIRECTS.has(response.status)) return response;
      response.cancel();
      if (redirectsLeft === 0) throw new EgressError("redirects", "it redirects too often");
      url = parseUrl(response.location, url);
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

/** Tries the addresses one after the other until one answers. */
async function sendToTarget(
  { url, addresses }: EgressTarget,
  accept: string,
  signal: AbortSignal,
): Promise<PinnedResponse> {
  let failure: unknown;
  for (const address of addresses.slice(0, MOST_ADDRESSES)) {
    try {
      return await sendPinned({ url, address, accept, signal });
    } catch (thrown) {
      signal.throwIfAborted();
      failure = thrown;
    }
  }
  throw failure;
}

async function readResponse(response: PinnedResponse, maxBytes: number): Promise<Fetched> {
  const { status, contentLength = 0, mediaType } = response;
  if (status < 200 || status > 299) {
    response.cancel();
    throw new EgressError("status", `its server answered with status ${status}`);
  }
  const pieces: Uint8Array[] = [];
  let length = 0;
  if (contentLength > maxBytes) response.cancel();
  else {
    for await (const piece of response.body) {
      length += piece.length;
      if (length > maxBytes) break;
      pieces.push(piece);
    }
  }
  if (Math.max(length, contentLength) <= maxBytes)
    return { bytes: Buffer.concat(pieces), mediaType };
  throw new EgressError("too_large", `it is larger than ${Math.floor(maxBytes / 2 ** 20)} MiB`);
}

/** Rejects on abort without waiting for the work: a name lookup cannot be cancelled. */
function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason);
    if (signal.aborted) leave();
    signal.addEventListener("abort", leave, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
  });
}

function timedOut(timeoutMs: number, cause: unknown): EgressError {
  return new EgressError("timeout", `it did not answer within ${timeoutMs / 1000} seconds`, {
    cause,
  });
}

function toEgressError(thrown: unknown): EgressError {
  if (thrown instanceof EgressError) return thrown;
  return new EgressError("failed", "its server is unreachable or closed the connection", {
    cause: thrown,
  });
}
