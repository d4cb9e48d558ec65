import { ServiceError } from "../../core/service-error.ts";
import { zeroCounts } from "../../lib/zero-counts.ts";
import { isUnconnected } from "./connection-error.ts";

/**
 * How a call to a server of models ended: by its status; `timeout`: it was silent or slow beyond a limit; `refused`:
 * nobody could be reached; `broken`: the connection broke off, or brought too much; `aborted`: the client left, or the
 * gateway is stopping.
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

/** What this process has seen of one server of models since its start. */
export interface UpstreamFigures {
  /** The backend's name; `embeddings` and `speech` where servers of their own are set for these. */
  readonly name: string;
  /** Calls of clients. Questions on the side, such as for the list of models, are not among them. */
  readonly outcomes: Record<UpstreamOutcome, number>;
  /** Further tries of a call that was refused before its first byte. */
  retries: number;
  /** Nobody was reached, or none answered in time, when it was last asked for anything. */
  isSilent: boolean;
}

/** The figures of all servers of models that the settings name. */
export interface UpstreamBook {
  /** Opens the figures of a server. */
  readonly open: (name: string) => UpstreamFigures;
  readonly all: readonly UpstreamFigures[];
}

export function createUpstreamBook(): UpstreamBook {
  const all: UpstreamFigures[] = [];
  return {
    open(name) {
      const figures = {
        name,
        outcomes: zeroCounts(UPSTREAM_OUTCOMES),
        retries: 0,
        isSilent: false,
      };
      all.push(figures);
      return figures;
    },
    all,
  };
}

/** Writes down how a call ended. */
export function noteOutcome(
  figures: UpstreamFigures,
  outcome: UpstreamOutcome,
  isQuestion: boolean,
): void {
  if (!isQuestion) figures.outcomes[outcome] += 1;
  // A client that left says nothing about the server.
  if (outcome !== "aborted") figures.isSilent = outcome === "refused" || outcome === "timeout";
}

export function outcomeOfStatus(status: number): UpstreamOutcome {
  if (status < 400) return "ok";
  if (status === 429) return "429";
  return status < 500 ? "4xx" : "5xx";
}

/**
 * @param thrown what the call failed with.
 * @param told the error that it ends with, or the reason for which it was ended.
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
