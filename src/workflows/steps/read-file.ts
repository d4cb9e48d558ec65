import { z } from "zod";
import type { JsonObject } from "../../lib/json.ts";
import { runProgram } from "../row-process/run-program.ts";
import { StepFailure } from "../runs/run.ts";
import { defineStepKind } from "./step-kind.ts";
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
      "A file in it, or a glob (`orders/*.csv`, `**/*.json`): all files that match, in the order of their paths. With {{ }} over `run` and `trigger`; what these bring is no glob.",
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
    async check({ connection, path }) {
      if (fileConnections.find(connection) === undefined)
        return [{ field: "connection", message: unknownConnection(connection, fileConnections) }];
      const isOutside = path.startsWith("/") || path.split("/").includes("..");
      if (!isOutside) return [];
      return [
        { field: "path", message: "The path is relative to the connection and has no '..'." },
      ];
    },
    async run(context) {
      const { connection, ...settings } = context.settings;
      const found = fileConnections.find(connection);
      if (found === undefined)
        throw new StepFailure("not_found", unknownConnection(connection, fileConnections));
      const place = { connection, folder: found.folder, hidden: fileConnections.hidden };
      const sent = { ...settings, place } as unknown as JsonObject;
      await runProgram(rowProcess, context, "read_file", sent);
      return undefined;
    },
  });

function unknownConnection(
  name: string,
  { list }: Pick<StepServices["fileConnections"], "list">,
): string {
  const names = list().map((connection) => `'${connection.name}'`);
  return `There is no file connection '${name}': there is ${names.join(", ")}.`;
}
