import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { zeroCounts } from "../../lib/zero-counts.ts";
import type { CheckOutcome } from "./ask-server.ts";
import type { KnownServers } from "./known-servers.ts";
import { addressOf, type ServerRow } from "./tool-server.ts";
import type { LeftOutTool } from "./tool-server-client.ts";

export const SERVER_STATUSES = ["connected", "disabled", "error"] as const;
export type ServerStatus = (typeof SERVER_STATUSES)[number];

/** The state of a tool server as this process sees it. */
export interface ServerHealth {
  readonly status: ServerStatus;
  /** A sentence about why it is in error. */
  readonly reason: string | null;
  /** The end of its last check; null: it is not checked yet, at this address. */
  readonly checkedAt: Date | null;
  /** The tools of its last list that cannot be offered. */
  readonly leftOut: readonly LeftOutTool[];
}

const UNCHECKED: ServerHealth = {
  status: "error",
  reason: "The tool server is being checked for the first time since this replica knows of it.",
  checkedAt: null,
  leftOut: [],
};

/** The results of the last checks. Each replica has its own: one may reach a server that another does not. */
export interface ServerHealths {
  readonly of: (row: ServerRow) => ServerHealth;
  /** Whether a check has found it in error. */
  readonly isInError: (row: ServerRow) => boolean;
  readonly record: (row: ServerRow, outcome: CheckOutcome) => void;
  /** Forgets servers that are no longer known, and addresses that are no longer theirs. */
  readonly prune: () => void;
  /** Servers by status; those that are not checked yet are in none. */
  readonly count: () => Readonly<Record<ServerStatus, number>>;
}

interface HealthOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly list: KnownServers["list"];
}

export function createServerHealths({ clock, log, list }: HealthOptions): ServerHealths {
  // By address: what was found at another address says nothing about this one.
  const found = new Map<string, ServerHealth>();
  const of = (row: ServerRow): ServerHealth => {
    const last = found.get(addressOf(row)) ?? UNCHECKED;
    if (row.enabled) return last;
    return { ...last, status: "disabled", reason: null };
  };
  return {
    of,
    isInError: (row) => row.enabled && found.get(addressOf(row))?.status === "error",
    record(row, outcome) {
      const { status: before, leftOut: known = [] } = found.get(addressOf(row)) ?? {};
      const { reason = null } = outcome;
      const status = reason === null ? "connected" : "error";
      const leftOut = outcome.reason === undefined ? outcome.leftOut : known;
      found.set(addressOf(row), { status, reason, checkedAt: new Date(clock.now()), leftOut });
      const fields = { server: row.id, name: row.name };
      if (status === "error" && before !== "error") {
        log.warn({ ...fields, reason }, "a tool server cannot be used; calls of its tools fail");
      }
      if (status === "connected" && before === "error") {
        log.info(fields, "a tool server can be used again");
      }
    },
    prune() {
      const present = new Set(list().map(({ row }) => addressOf(row)));
      for (const address of found.keys()) if (!present.has(address)) found.delete(address);
    },
    count() {
      const counts = zeroCounts(SERVER_STATUSES);
      for (const { row } of list()) {
        const { status, checkedAt } = of(row);
        if (status !== "error" || checkedAt !== null) counts[status] += 1;
      }
      return counts;
    },
  };
}
