import { z } from "zod";
import { withTransaction } from "../../db/context.ts";
import type { JsonValue } from "../../lib/json/json.ts";
import { type CsvCell, csvLine } from "../../lib/text/csv.ts";
import { unpackRows, unpackText } from "../rows/pack-rows.ts";
import { StepFailure } from "../runs/run.ts";
import { markFile, writerOf } from "../triggers/marks.ts";
import { fillForRows } from "./shared/step-templates.ts";
import { beginWorkspaceFile, type WorkspaceDraft } from "./shared/workspace-file.ts";
import { defineStepKind, type StepContext, type StepKind } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";

/** Columns of a CSV file that are found by themselves. */
const COLUMNS_MAX = 10_000;
const FORMATS = ["csv", "ndjson", "json"] as const;

const settings = z.strictObject({
  path: z
    .string()
    .min(1)
    .max(1_000)
    .describe(
      "Relative to WORKSPACE_DIR, with {{ }} over `run` and `trigger`: reports/{{ run.id }}.csv",
    ),
  format: z.enum(FORMATS).default("csv").describe("How the rows are written."),
  columns: z
    .array(z.string().min(1).max(200))
    .min(1)
    .max(COLUMNS_MAX)
    .optional()
    .describe("The columns of a CSV file in their order; unset: every field, as they appear."),
});
type Settings = z.output<typeof settings>;

/**
 * `write_file`: a file appears whole under its path, or not at all, and replaces the one that is there. A repeated try
 * writes the same file again.
 */
export function writeFileStep(services: StepServices): StepKind {
  return defineStepKind<Settings>({
    kind: "write_file",
    group: "sink",
    label: "Write a file",
    help: "Writes the rows into one file of WORKSPACE_DIR, which replaces the one that is there; passes them on.",
    example: { path: "reports/{{ run.id }}.csv", format: "csv" },
    schema: settings,
    administratorsOnly: true,
    expressions: ({ path }) => [{ field: "path", kind: "text", text: path }],
    run: (context) => run(services, context),
  });
}

async function run(services: StepServices, context: StepContext<Settings>): Promise<undefined> {
  const { settings: given, inputs, isTest, tell, run: claimed } = context;
  const path = await pathOf(services, context);
  if (isTest) {
    const rows = inputs.reduce((sum, input) => sum + input.rows, 0);
    tell(`would write ${rows} rows to ${path}`);
    for await (const chunk of chunksOf(context)) await context.output().chunk(chunk);
    return undefined;
  }
  const draft = await onDisk(() => beginWorkspaceFile(services.fileConnections, path));
  try {
    if (given.format === "csv") await writeCsv(context, draft);
    else await writeJson(context, draft, given.format);
    await onDisk(draft.finish);
    const { askOwn } = services.database;
    await askOwn((db) =>
      withTransaction(db, (tx) => markFile(tx, { path: draft.path }, writerOf(claimed))),
    );
    // A worker that has lost the run must not replace what its successor writes.
    context.signal.throwIfAborted();
    await onDisk(draft.place);
  } finally {
    await draft.discard();
  }
  for await (const chunk of chunksOf(context)) await context.output().chunk(chunk);
  return undefined;
}

async function pathOf(
  { rowProcess }: StepServices,
  context: StepContext<Settings>,
): Promise<string> {
  const [filled] = await fillForRows(rowProcess, context.settings.path, [{}], context);
  if (filled === undefined || "error" in filled) {
    throw new StepFailure(filled?.error.code ?? "path_refused", filled?.error.message ?? "no path");
  }
  return String(filled.value);
}

async function writeCsv(context: StepContext<Settings>, draft: WorkspaceDraft): Promise<void> {
  const columns = context.settings.columns ?? (await findColumns(context));
  const write = (lines: readonly (readonly CsvCell[])[]) =>
    onDisk(() => draft.write(lines.map(csvLine).join("")));
  await write([columns]);
  for await (const chunk of chunksOf(context)) {
    const rows = await unpackRows(chunk);
    await write(rows.map((row) => columns.map((column) => cellOf(row[column]))));
  }
}

async function writeJson(
  context: StepContext<Settings>,
  draft: WorkspaceDraft,
  format: "ndjson" | "json",
): Promise<void> {
  const write = (text: string) => onDisk(() => draft.write(text));
  const isArray = format === "json";
  let isFirst = true;
  if (isArray) await write("[");
  for await (const chunk of chunksOf(context)) {
    const text = (await unpackText(chunk)).toString("utf8");
    const array = `${isFirst ? "\n" : ",\n"}${text.trimEnd().replaceAll("\n", ",\n")}`;
    await write(isArray ? array : text);
    isFirst = false;
  }
  if (isArray) await write("\n]\n");
}

/** Every field of every row, in the order in which they appear. */
async function findColumns(context: StepContext<Settings>): Promise<readonly string[]> {
  const found = new Set<string>();
  for await (const chunk of chunksOf(context)) {
    for (const row of await unpackRows(chunk)) for (const name of Object.keys(row)) found.add(name);
    if (found.size <= COLUMNS_MAX) continue;
    throw new StepFailure(
      "too_many_columns",
      `The rows have more than ${COLUMNS_MAX} fields. Name the ones to write in 'columns', or use ndjson.`,
    );
  }
  return [...found];
}

function cellOf(value: JsonValue | undefined): CsvCell {
  if (value === undefined) return null;
  return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
}

async function* chunksOf({ inputs, signal }: StepContext<Settings>) {
  for (const input of inputs) {
    for await (const chunk of input.chunks()) {
      signal.throwIfAborted();
      yield chunk;
    }
  }
}

/** What the file system refuses may pass at the next try: a full disk, a lost mount. */
async function onDisk<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (thrown) {
    throw diskFailure(thrown);
  }
}

function diskFailure(thrown: unknown): unknown {
  if (thrown instanceof StepFailure) return thrown;
  const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "unknown";
  const message = `The file could not be written (${code}). Look at WORKSPACE_DIR.`;
  return new StepFailure("file_not_written", message, { isRetryable: true, cause: thrown });
}
