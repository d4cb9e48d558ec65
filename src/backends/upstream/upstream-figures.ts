import { ServiceError } from "../../core/service-error.ts";
import { zeroCounts } from "../../lib/zero-counts.ts";
import { isUnconnected } from "./connection-error.ts";

/**
 * The outcome of a call to a model server, by its status, or:
 * `timeout`: it was silent or slow beyond a limit;
 * `refused`: no connection was made;
 * `broken`: the connection broke or brought too much;
 * `aborted`: the client left, or the gateway is stopping.
 */
export const UPSTREAM_OUTCOMES = [
  "ok",
  "4xx",
  "429",
  "5xx",
  "timeout",
  "refused",
  "broken",
  "aborted",
] as const;
export type UpstreamOutcome = (typeof UPSTREAM_OUTCOMES)[number];

/** What this process has seen of one model server since its start. */
export interface UpstreamFigures {
  /** The backend's name; `embeddings` and `speech` for dedicated servers of these. */
  readonly name: string;
  /** The server's name and port. */
  readonly host: string;
  /** Client calls in progress. */
  openCalls: number;
  /** Client calls only. Side requests, such as for the list of models, are not counted. */
  readonly outcomes: Record<UpstreamOutcome, number>;
  /** Retries of calls that were refused before their first byte. */
  retries: number;
  /** True when the last request of any kind failed to connect or timed out. */
  isSilent: boolean;
  /** Unix milliseconds since when it is silent, or answers; undefined before the first answer or silence. */
  since: number | undefined;
}

/** The figures of all configured model servers. */
export interface UpstreamBook {
  /** Creates the figures of the server at an address. */
  readonly open: (name: string, address: string) => UpstreamFigures;
  readonly all: readonly UpstreamFigures[];
}

export function createUpstreamBook(): UpstreamBook {
  const all: UpstreamFigures[] = [];
  return {
    open(name, address) {
      const figures = {
        name,
        host: new URL(address).host,
        openCalls: 0,
        outcomes: zeroCounts(UPSTREAM_OUTCOMES),
        retries: 0,
        isSilent: false,
        since: undefined,
      };
      all.push(figures);
      return figures;
    },
    all,
  };
}

/**
 * Counts the outcome of a call.
 *
 * @param now Unix milliseconds.
 */
export function noteOutcome(
  figures: UpstreamFigures,
  outcome: UpstreamOutcome,
  { isQuestion, now }: { readonly isQuestion: boolean; readonly now: number },
): void {
  if (!isQuestion) figures.outcomes[outcome] += 1;
  // A client that left says nothing about the server.
  if (outcome === "aborted") return;
  const isSilent = outcome === "refused" || outcome === "timeout";
  if (figures.since === undefined || isSilent !== figures.isSilent) figures.since = now;
  figures.isSilent = isSilent;
}

export function outcomeOfStatus(status: number): UpstreamOutcome {
  if (status < 400) return "ok";
  if (status === 429) return "429";
  return status < 500 ? "4xx" : "5xx";
}

/**
 * Classifies a failure.
 *
 * @param thrown the error that the call failed with.
 * @param told the error that the caller gets, or the reason of the abort.
 */
export function outcomeOfFailure(
  thrown: unknown,
  told: unknown,
  isEnded: boolean,
): UpstreamOutcome {
  if (told instanceof ServiceError && told.code === "upstream_timeout") return "timeout";
  if (isEnded) return "aborted";
  return isUnconnected(thrown) ? "refused" : "broken";
}
