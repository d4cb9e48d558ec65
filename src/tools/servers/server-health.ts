import type { Log } from "../../lib/log.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { zeroCounts } from "../../lib/zero-counts.ts";
import type { CheckOutcome } from "./client/ask-server.ts";
import type { LeftOutTool } from "./client/tool-server-client.ts";
import type { KnownServers } from "./known-servers.ts";
import { addressOf, type ServerRow } from "./tool-server.ts";

export const SERVER_STATUSES = ["connected", "disabled", "error"] as const;
export type ServerStatus = (typeof SERVER_STATUSES)[number];

/** The state of a tool server as this process sees it. */
export interface ServerHealth {
  readonly status: ServerStatus;
  /** A sentence about why it is in error. */
  readonly reason: string | null;
  /** When it was first found so; null while it is disabled or not checked yet. */
  readonly since: Date | null;
  /** The end of its last check; null: it is not checked yet, at this address. */
  readonly checkedAt: Date | null;
  /** The tools of its last list that cannot be offered. */
  readonly leftOut: readonly LeftOutTool[];
  /** The names of its last list whose schema was too large to be kept. */
  readonly replaced: readonly string[];
}

const UNCHECKED: ServerHealth = {
  status: "error",
  reason: "The tool server is being checked for the first time since this replica knows of it.",
  since: null,
  checkedAt: null,
  leftOut: [],
  replaced: [],
};

/** What is known of an address that was never asked. */
const UNKNOWN = { status: undefined, since: null, leftOut: [], replaced: [] } as const;

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
    return { ...last, status: "disabled", reason: null, since: null };
  };
  return {
    of,
    isInError: (row) => row.enabled && found.get(addressOf(row))?.status === "error",
    record(row, outcome) {
      const before = found.get(addressOf(row)) ?? UNKNOWN;
      const { reason = null } = outcome;
      const status = reason === null ? "connected" : "error";
      const { leftOut, replaced } = outcome.reason === undefined ? outcome : before;
      const checkedAt = new Date(clock.now());
      const since = status === before.status ? before.since : checkedAt;
      found.set(addressOf(row), { status, reason, since, checkedAt, leftOut, replaced });
      const fields = { server: row.id, name: row.name };
      if (status === "error" && before.status !== "error") {
        log.warn({ ...fields, reason }, "a tool server cannot be used; calls of its tools fail");
      }
      if (status === "connected" && before.status === "error") {
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
