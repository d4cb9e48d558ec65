import { takeTurns } from "../take-turns.ts";
import { parseAllowList } from "./egress-allow-list.ts";
import { EgressError } from "./egress-error.ts";
import { type EgressTarget, findTarget, type ResolveHost, resolveHost } from "./egress-target.ts";
import { type PinnedResponse, sendPinned } from "./pinned-request.ts";

export interface EgressOptions {
  /** Hosts, addresses and CIDR ranges that are let through although they are private. */
  readonly allow: readonly string[];
  readonly resolve?: ResolveHost;
}

export interface EgressLimits {
  /** What is asked for, as an `accept` header. */
  readonly accept: string;
  readonly maxBytes: number;
  /** For all of it: names, redirects, the body. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface Fetched {
  readonly bytes: Uint8Array;
  /** As the server says, in small letters and without parameters; it may be wrong. */
  readonly mediaType: string | undefined;
}

/** The way out for addresses that somebody else entered. */
export interface Egress {
  /** Rejects with an `EgressError`, or with the reason of the signal. */
  readonly fetch: (url: string, limits: EgressLimits) => Promise<Fetched>;
}

const MOST_REDIRECTS = 3;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Addresses of one host that are tried. */
const MOST_ADDRESSES = 4;

/**
 * Builds the guard. Names are resolved here, every address of them is checked, and the connection is made to the very
 * address that was checked: a name that points elsewhere a moment later changes nothing. Each redirect is checked anew.
 */
export function createEgress({ allow, resolve = resolveHost }: EgressOptions): Egress {
  const allowed = parseAllowList(allow);
  const inTurn = takeTurns();
  // The runtime looks up few names at once, for the calls to models as well: slow names that somebody else has entered
  // must not take all its places, and one that nobody waits for any more takes none.
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
    base === undefined ? "it is no http or https address" : "it redirects to no address",
  );
}

/** Tries the addresses in turn until one answers. */
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

/** Resolving a name cannot be stopped, but nobody need wait for it. */
function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason);
    if (signal.aborted) leave();
    signal.addEventListener("abort", leave, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
  });
}

function timedOut(timeoutMs: number, cause: unknown): EgressError {
  return new EgressError("timeout", `it was not there within ${timeoutMs / 1000} seconds`, {
    cause,
  });
}

function toEgressError(thrown: unknown): EgressError {
  if (thrown instanceof EgressError) return thrown;
  return new EgressError("failed", "its server cannot be reached, or broke off", { cause: thrown });
}
