import type { MeteredRequest } from "../../api/queries/requests.ts";
import { formatCount, formatExact } from "../../lib/count.ts";
import { StatusDot } from "../../ui/status/status-dot.tsx";
import type { Column } from "../../ui/tables/table-column.ts";
import { Duration } from "../../ui/text/count.tsx";
import { Time } from "../../ui/text/time.tsx";
import { OUTCOMES } from "./request-filters.ts";

/** The columns of the list; beside an open request only the first ones have room. */
export function requestColumns(isNarrow: boolean): ReadonlyArray<Column<MeteredRequest>> {
  return isNarrow ? COLUMNS.filter(({ id }) => NARROW.has(id)) : COLUMNS;
}

const NARROW: ReadonlySet<string> = new Set(["time", "model", "outcome", "latency"]);

const COLUMNS: ReadonlyArray<Column<MeteredRequest>> = [
  {
    id: "time",
    head: "Time",
    cell: ({ started_at: at }) => <Time value={at} hasSeconds />,
    width: "14rem",
  },
  {
    id: "key",
    head: "Key",
    cell: (request) => (
      <span title={request.owner_name === null ? request.key_id : `of ${request.owner_name}`}>
        {request.key_name ?? <span className="text-muted">deleted key</span>}
      </span>
    ),
  },
  { id: "model", head: "Model", cell: (request) => <span>{whatAnswered(request)}</span> },
  {
    id: "channel",
    head: "Channel",
    cell: ({ channel }) => channel,
    width: "7rem",
    isWideOnly: true,
  },
  {
    id: "outcome",
    head: "Outcome",
    cell: ({ outcome }) => (
      <StatusDot tone={OUTCOMES[outcome].tone}>{OUTCOMES[outcome].label}</StatusDot>
    ),
    width: "9rem",
  },
  {
    id: "status",
    head: "Status",
    cell: ({ status }) => status,
    width: "5rem",
    isNumber: true,
    isWideOnly: true,
  },
  {
    id: "tokens",
    head: "Tokens in, out",
    cell: ({ input_tokens: input, output_tokens: output }) => (
      <span title={`${formatExact(input)} in, ${formatExact(output)} out`}>
        {formatCount(input)} → {formatCount(output)}
      </span>
    ),
    width: "9rem",
    isNumber: true,
  },
  {
    id: "first",
    head: "First token",
    cell: ({ first_token_ms: ms }) => <Duration value={ms} />,
    width: "7rem",
    isNumber: true,
    isWideOnly: true,
  },
  {
    id: "latency",
    head: "Latency",
    cell: ({ latency_ms: ms }) => <Duration value={ms} />,
    width: "7rem",
    isNumber: true,
  },
];

/** The model, or the tool of a call by MCP. */
export function whatAnswered({ model, tool_name: tool }: MeteredRequest): string {
  return model || (tool ?? "–");
}
