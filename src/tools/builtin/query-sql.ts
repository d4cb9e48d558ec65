import type { Settings } from "../../config/settings.ts";
import { nameKey } from "../../knowledge/assistants/name-key.ts";
import type { JsonObject, JsonValue } from "../../lib/json/json.ts";
import { cutText } from "../../lib/text/cut-text.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { checkStatement } from "../connections/check-statement.ts";
import type { QueryRows, SavedConnection, SavedConnections } from "../connections/connection.ts";
import { createFunctionCatalogs } from "../connections/function-catalogs.ts";
import { usableConnections } from "../connections/usable-connections.ts";
import type { Tool, ToolResult } from "../tool.ts";

export interface QuerySqlParts {
  readonly saved: SavedConnections;
  readonly settings: Pick<Settings, "TOOL_QUERY_SQL_MAX_ROWS" | "TOOL_RESULT_MAX_BYTES">;
  readonly clock: Clock;
}

const QUERY_SQL = "query_sql";
const TIMEOUT_MS = 15_000;
const MAX_NAME_CHARACTERS = 200;
/** Longer values are shown by their beginning, so that one of them does not take the place of all others. */
const MAX_VALUE_CHARACTERS = 4_000;
/** Bytes of a result that are kept free for its first line and the note of a cut. */
const NOTE_BYTES = 400;

/** Creates the tool that runs one reading statement on a saved connection. */
export function createQuerySql({ saved, settings, clock }: QuerySqlParts): Tool {
  const catalogs = createFunctionCatalogs(saved, clock);
  const mostRows = settings.TOOL_QUERY_SQL_MAX_ROWS;
  return {
    name: QUERY_SQL,
    description:
      "Runs one SQL statement that reads on a saved database connection and returns its rows, each a JSON array. " +
      "Write it in the dialect of the connection's database. Aggregate and filter in SQL, because rows are limited.",
    level: "read_only",
    parameters: parametersOf(mostRows),
    isAvailable: ({ sqlConnections }) => sqlConnections.length > 0,
    async run({ connection: name, sql, max_rows }, { assistant, caller, signal }) {
      const chosen = choose(usableConnections(saved, assistant, caller), name);
      if (typeof chosen === "string") return { text: chosen, isError: true };
      const statement = String(sql);
      const { refusal } = await checkStatement({ sql: statement }, chosen, catalogs, signal);
      if (refusal !== undefined) {
        const text = `The statement was refused and did not run. ${refusal.message} ${refusal.hint}`;
        return { text, isError: true };
      }
      const maxRows = typeof max_rows === "number" ? max_rows : mostRows;
      const query = { sql: statement, maxRows, timeoutMs: TIMEOUT_MS, signal };
      const found = await saved.read(chosen, query);
      return describeRows(found, settings.TOOL_RESULT_MAX_BYTES);
    },
  };
}

function parametersOf(mostRows: number): JsonObject {
  return {
    type: "object",
    properties: {
      connection: {
        type: "string",
        minLength: 1,
        maxLength: MAX_NAME_CHARACTERS,
        description: "The name of the connection. It can be left out when there is only one.",
      },
      sql: {
        type: "string",
        minLength: 1,
        description: "One statement that reads, such as a SELECT, without placeholders.",
      },
      max_rows: {
        type: "integer",
        minimum: 1,
        maximum: mostRows,
        description: `How many rows to return at most; ${mostRows} if not given.`,
      },
    },
    required: ["sql"],
    additionalProperties: false,
  };
}

/** The connection that the call means, or what is wrong with its name. */
function choose(
  usable: readonly SavedConnection[],
  name: JsonValue | undefined,
): SavedConnection | string {
  const [only] = usable;
  if (only === undefined) {
    return "No saved connection can be used here. An administrator saves connections and gives them to assistants and keys.";
  }
  const names = usable.map((connection) => `'${connection.name}'`).join(", ");
  if (typeof name === "string") {
    const found = usable.find((connection) => nameKey(connection.name) === nameKey(name));
    return found ?? `There is no connection '${name}' here. The connections are ${names}.`;
  }
  return usable.length === 1
    ? only
    : `Argument 'connection' is missing. The connections are ${names}.`;
}

/** What was found, as lines: how much it is, the names of the columns, the rows. */
function describeRows({ columns, rows, isCut }: QueryRows, maxBytes: number): ToolResult {
  const lines = [JSON.stringify(columns)];
  let room = maxBytes - NOTE_BYTES - Buffer.byteLength(lines[0] ?? "");
  for (const row of rows) {
    const line = JSON.stringify(row.map(shortened));
    room -= Buffer.byteLength(line) + 1;
    if (room < 0) break;
    lines.push(line);
  }
  const shown = lines.length - 1;
  const count = `${shown} ${shown === 1 ? "row" : "rows"}`;
  if (shown < rows.length) {
    lines.unshift(
      `The first ${count} of ${rows.length} or more, because the result is too long. Select fewer or shorter columns.`,
    );
  } else if (isCut) {
    lines.unshift(
      `The first ${count}; there are more. Aggregate, filter, or use LIMIT and OFFSET.`,
    );
  } else lines.unshift(`${count}.`);
  return { text: lines.join("\n") };
}

function shortened(value: JsonValue): JsonValue {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (text.length <= MAX_VALUE_CHARACTERS) return value;
  return `${cutText(text, MAX_VALUE_CHARACTERS)}… [cut: ${text.length} characters]`;
}
