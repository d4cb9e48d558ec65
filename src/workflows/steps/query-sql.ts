import { z } from "zod";
import type { JsonObject } from "../../lib/json/json.ts";
import type { SqlParameter } from "../../lib/sql-gate/tokens/fill-placeholders.ts";
import { checkStatement } from "../../tools/connections/check-statement.ts";
import type { QueryRows } from "../../tools/connections/connection.ts";
import {
  createFunctionCatalogs,
  type FunctionCatalogs,
} from "../../tools/connections/function-catalogs.ts";
import { StepFailure } from "../runs/run.ts";
import { connectionFailure, connectionFaults, findConnection } from "./shared/saved-connection.ts";
import { checkedTemplates, fillForRows } from "./shared/step-templates.ts";
import { defineStepKind, type FieldFault, type StepContext, type StepKind } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";

/** Beyond it a timer of the runtime fires at once. */
const TIMEOUT_MAX_MS = 2 ** 31 - 1;
const ROWS_MAX = 100_000;
const PARAMETERS_MAX = 100;

const settings = z.strictObject({
  connection: z.string().min(1).max(200).describe("The name of a saved connection."),
  sql: z.string().min(1).describe("One statement that reads, in the dialect of its database."),
  parameters: z
    .array(z.union([z.string().max(65_536), z.number(), z.boolean(), z.null()]))
    .max(PARAMETERS_MAX)
    .default([])
    .describe(
      "The values of its placeholders, in their order: $1, $2 … in PostgreSQL, ? in MySQL and SQLite. Texts may have {{ }} over `run` and `trigger`.",
    ),
  max_rows: z
    .int()
    .min(1)
    .max(ROWS_MAX)
    .default(ROWS_MAX)
    .describe("Rows that the result may have; the step fails when it has more."),
});
type Settings = z.output<typeof settings>;

/** `query_sql`: reads through the same gate, and as read-only, as the tool of this name. */
export function querySqlStep(services: StepServices): StepKind {
  const { connections, clock } = services;
  const catalogs = createFunctionCatalogs(connections.saved, clock);
  return defineStepKind<Settings>({
    kind: "query_sql",
    group: "source",
    label: "Query a database",
    help: "Reads rows from a saved database connection with one SQL statement.",
    example: {
      connection: "warehouse",
      sql: "SELECT id, total FROM orders WHERE total > $1",
      parameters: [100],
    },
    schema: settings,
    administratorsOnly: true,
    expressions: ({ parameters }) => checkedTemplates("parameters", parameters),
    check: (given) => check(services, catalogs, given),
    run: (context) => run(services, catalogs, context),
  });
}

async function check(
  { connections }: StepServices,
  catalogs: FunctionCatalogs,
  { connection: name, sql, parameters }: Settings,
): Promise<readonly FieldFault[]> {
  const faults = connectionFaults(connections, name);
  const connection = connections.saved.find(name);
  if (connection === undefined) return faults;
  try {
    const statement = { sql, parameters: parameters.length };
    const time = AbortSignal.timeout(5_000);
    const { refusal } = await checkStatement(statement, connection, catalogs, time);
    return refusal === undefined
      ? []
      : [{ field: "sql", message: `${refusal.message} ${refusal.hint}` }];
  } catch {
    // Its server does not answer. The statement is checked again before each run of it.
    return [];
  }
}

async function run(
  { connections, rowProcess }: StepServices,
  catalogs: FunctionCatalogs,
  context: StepContext<Settings>,
): Promise<undefined> {
  const { settings: given, signal, timeMs } = context;
  const { connection: name, sql, max_rows: maxRows } = given;
  const connection = findConnection(connections, name);
  try {
    const parameters = await fillParameters(rowProcess, context);
    const statement = { sql, parameters: parameters.length };
    const { refusal } = await checkStatement(statement, connection, catalogs, signal);
    if (refusal !== undefined) {
      throw new StepFailure("sql_refused", `${refusal.message} ${refusal.hint}`);
    }
    const timeoutMs = Math.min(timeMs, TIMEOUT_MAX_MS);
    const query = { sql, parameters, maxRows, timeoutMs, signal };
    const found = await connections.saved.read(connection, query);
    if (found.isCut) {
      throw new StepFailure(
        "too_many_rows",
        `The result has more than ${maxRows} rows. Aggregate or filter in SQL, or raise 'max_rows' up to ${ROWS_MAX}.`,
      );
    }
    const output = context.output();
    for (const row of objectsOf(found)) await output.push(row);
  } catch (thrown) {
    throw connectionFailure(thrown);
  }
  return undefined;
}

async function fillParameters(
  rowProcess: StepServices["rowProcess"],
  context: StepContext<Settings>,
): Promise<readonly SqlParameter[]> {
  const { parameters } = context.settings;
  if (!parameters.some((value) => typeof value === "string" && value.includes("{{"))) {
    return parameters;
  }
  const [filled] = await fillForRows(rowProcess, parameters, [{}], context);
  if (filled !== undefined && "value" in filled) return filled.value as readonly SqlParameter[];
  const { code = "expression", message = "The parameters cannot be rendered." } =
    filled?.error ?? {};
  throw new StepFailure(code, message);
}

/** A second column of a name becomes `name_2`, so that none is lost. */
function* objectsOf({ columns, rows }: QueryRows): Generator<JsonObject> {
  const names: string[] = [];
  for (const column of columns) {
    let name = column;
    for (let number = 2; names.includes(name); number += 1) name = `${column}_${number}`;
    names.push(name);
  }
  for (const row of rows) {
    yield Object.fromEntries(names.map((name, index) => [name, row[index] ?? null]));
  }
}
