import { z } from "zod";
import type { JsonObject } from "../../lib/json/json.ts";
import { runProgram } from "../row-process/run-program.ts";
import { StepFailure } from "../runs/run.ts";
import { fillForRows } from "./shared/step-templates.ts";
import { defineStepKind, type StepContext } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";

const schema = z.strictObject({
  connection: z
    .string()
    .min(1)
    .default("workspace")
    .describe("The file connection: `workspace`, or the name of one of WATCH_DIRS."),
  path: z
    .string()
    .min(1)
    .max(1_000)
    .describe(
      "A file in it, or a glob (`orders/*.csv`, `**/*.json`): all files that match, in the order of their paths. With {{ }} over `run` and `trigger`, as in `{{ trigger.path }}`; a name that these bring is no glob.",
    ),
  format: z
    .enum(["auto", "csv", "json", "ndjson", "xlsx", "document"])
    .default("auto")
    .describe(
      "`auto`: by the ending of the name; what is no table is a document: one row `{text, part}`, several when it is long.",
    ),
  types: z
    .enum(["infer", "text"])
    .default("infer")
    .describe(
      "Of CSV cells. `infer`: a column is numbers, or true and false, if all of the first 1,000 rows say so; with zeros in front or more than 15 digits it stays text, and empty cells are null. `text`: every cell is a text.",
    ),
  delimiter: z
    .string()
    .length(1)
    .optional()
    .describe("Of CSV; default: whichever of `,` `;` `|` and tab the first lines have most often."),
  sheet: z.string().min(1).optional().describe("Of a workbook; default the first one."),
  file_field: z
    .string()
    .min(1)
    .optional()
    .describe("A field that gets the path of the row's file. Default: none."),
});

type Settings = z.output<typeof schema>;

const TEMPLATE = /\{\{.*?\}\}/gs;
const WILDCARD = /[*?[]/;
const OUTSIDE = "The path is relative to the connection and has no '..'.";

export const readFileStep = ({
  rowProcess,
  fileConnections,
}: Pick<StepServices, "rowProcess" | "fileConnections">) =>
  defineStepKind({
    kind: "read_file",
    group: "source",
    label: "Read files",
    help: "Reads the rows of CSV, JSON, NDJSON and XLSX files of a file connection, and other documents as text.",
    example: { connection: "workspace", path: "orders/*.csv" },
    schema,
    administratorsOnly: true,
    expressions: ({ path }) =>
      path.includes("{{") ? [{ field: "path", kind: "text", text: path }] : [],
    async check({ connection, path }) {
      if (fileConnections.find(connection) === undefined)
        return [{ field: "connection", message: unknownConnection(connection, fileConnections) }];
      return isOutside(path) ? [{ field: "path", message: OUTSIDE }] : [];
    },
    async run(context) {
      const { connection, ...settings } = context.settings;
      const found = fileConnections.find(connection);
      if (found === undefined)
        throw new StepFailure("not_found", unknownConnection(connection, fileConnections));
      const place = { connection, folder: found.folder, hidden: fileConnections.hidden };
      const path = await pathOf(rowProcess, context);
      // A file that is called `a[1].csv` is itself.
      const isGlob = WILDCARD.test(settings.path.replace(TEMPLATE, ""));
      const sent = { ...settings, path, isGlob, place } as unknown as JsonObject;
      await runProgram(rowProcess, context, "read_file", sent);
      return undefined;
    },
  });

/** Levels of the path in which nothing is filled in are as they stand. */
function isOutside(path: string): boolean {
  return path.startsWith("/") || path.split("/").includes("..");
}

/** What a trigger brings is checked as the path of a definition is. */
async function pathOf(
  rowProcess: StepServices["rowProcess"],
  context: StepContext<Settings>,
): Promise<string> {
  const { path } = context.settings;
  if (!path.includes("{{")) return path;
  const [filled] = await fillForRows(rowProcess, path, [{}], context);
  if (filled === undefined || "error" in filled) {
    throw new StepFailure(filled?.error.code ?? "path_refused", filled?.error.message ?? "no path");
  }
  const rendered = String(filled.value);
  if (rendered !== "" && !isOutside(rendered)) return rendered;
  const message = rendered === "" ? "The path is empty." : OUTSIDE;
  throw new StepFailure("path_refused", message);
}

function unknownConnection(
  name: string,
  { list }: Pick<StepServices["fileConnections"], "list">,
): string {
  const names = list().map((connection) => `'${connection.name}'`);
  return `There is no file connection '${name}': there is ${names.join(", ")}.`;
}
