import { byLabel, type Metric, single } from "../core/metric.ts";
import { zeroCounts } from "../lib/zero-counts.ts";
import type { ProcessObserver } from "./process/open-data-process.ts";
import type { Statement } from "./process/process-messages.ts";

const OUTCOMES = ["ok", "error", "refused", "cut", "cancelled"] as const;
/** Why a client of the port was turned away, by SQLSTATE. */
const REFUSALS = {
  "28P01": "key",
  "28000": "not_allowed",
  "53300": "too_many",
  "08P01": "protocol",
  "57P03": "away",
} as const;
type Refusal = (typeof REFUSALS)[keyof typeof REFUSALS] | "other";

/** Counts what the data process reports. */
export function createDataFigures(portState: () => { readonly port: number | null } | undefined): {
  readonly observe: ProcessObserver;
  readonly metrics: readonly Metric[];
} {
  const statements = zeroCounts(OUTCOMES);
  const refused = zeroCounts<Refusal>([...Object.values(REFUSALS), "other"]);
  let [connections, rows, bytes, milliseconds] = [0, 0, 0, 0];
  const count = (statement: Statement) => {
    statements[statement.outcome] += 1;
    rows += statement.rows;
    bytes += statement.bytes;
    milliseconds += statement.milliseconds;
  };
  return {
    observe: {
      statement: count,
      connections: (open) => {
        connections = open;
      },
      refused: (code) => {
        refused[code in REFUSALS ? REFUSALS[code as keyof typeof REFUSALS] : "other"] += 1;
      },
    },
    metrics: [
      gauge(
        "svc_bi_port_up",
        "1 while PostgreSQL clients are accepted.",
        () => (portState()?.port ?? null) !== null,
      ),
      gauge("svc_bi_connections", "Open connections of PostgreSQL clients.", () => connections),
      {
        name: "svc_bi_statements_total",
        type: "counter",
        help: "Statements with BI keys and sessions, by port and over HTTP, by outcome.",
        labels: ["outcome"],
        read: () => byLabel("outcome", statements),
      },
      counter(
        "svc_bi_statement_seconds_total",
        "Time of those statements.",
        () => milliseconds / 1_000,
      ),
      counter("svc_bi_rows_total", "Rows that they brought.", () => rows),
      counter("svc_bi_bytes_total", "Bytes that they brought.", () => bytes),
      {
        name: "svc_bi_refused_total",
        type: "counter",
        help: "Connections to the PostgreSQL port that were turned away or ended, by reason.",
        labels: ["reason"],
        read: () => byLabel("reason", refused),
      },
    ],
  };
}

type Read = () => number | boolean | undefined;

function gauge(name: string, help: string, read: Read): Metric {
  return { name, type: "gauge", help, labels: [], read: () => single(read()) };
}

function counter(name: string, help: string, read: Read): Metric {
  return { name, type: "counter", help, labels: [], read: () => single(read()) };
}
