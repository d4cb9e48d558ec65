import { UnreadableFile } from "../../../knowledge/readers/reader.ts";
import { textOf } from "../../../tools/files/byte-path.ts";
import { FileFault, type Place } from "../../../tools/files/file-job.ts";
import { readCsvRows } from "../files/csv-rows.ts";
import type { FileRow, FileSettings } from "../files/file-rows.ts";
import { readJsonLines, readJsonRows } from "../files/json-rows.ts";
import { asDocument, asText, type FoundFile, findFiles } from "../files/open-files.ts";
import type { RowWork } from "../row-program.ts";
import { ProgramFailure, RowFault, setField } from "../row-work.ts";

const BATCH_ROWS = 1_000;
const FORMATS: Readonly<Record<string, FileSettings["format"]>> = {
  csv: "csv",
  tsv: "csv",
  tab: "csv",
  json: "json",
  geojson: "json",
  ndjson: "ndjson",
  jsonl: "ndjson",
  xlsx: "xlsx",
  xlsm: "xlsx",
};

interface ReadSettings extends FileSettings {
  readonly place: Place;
  readonly path: string;
  readonly isGlob: boolean;
  readonly file_field?: string | undefined;
}

/**
 * Reads the files of a connection that a path names, one after another. Of a glob's files one that cannot be read is the
 * fault of one row, as `on_row_error` says, and the next one follows; what was read of it stays.
 */
export async function* readFiles({ settings, outputs }: RowWork) {
  const wanted = settings as unknown as ReadSettings;
  const count = { rows: 0 };
  const { paths, open } = within(() => findFiles(wanted.place, wanted));
  for (const found of paths) {
    const path = textOf(found);
    try {
      yield* readOne({ path, open: () => open(found) }, { wanted, outputs, count });
    } catch (thrown) {
      const failure = failureIn(path, thrown);
      if (!wanted.isGlob || outputs.isFailing) throw failure;
      count.rows += 1;
      const { code, message } = failure;
      outputs.reject({ row: count.rows, code, message }, JSON.stringify({ file: path }));
      yield;
    }
    if (outputs.isOver) return;
  }
}

interface Reading {
  readonly wanted: ReadSettings;
  readonly outputs: RowWork["outputs"];
  /** Over all files. */
  readonly count: { rows: number };
}

async function* readOne(
  { path, open }: { readonly path: string; readonly open: () => FoundFile["opened"] },
  { wanted, outputs, count }: Reading,
) {
  const opened = open();
  try {
    for await (const found of rowsOf({ path, opened }, wanted)) {
      count.rows += 1;
      const text = JSON.stringify(found.row ?? {});
      outputs.attempt({ text, number: count.rows }, () => {
        if ("fault" in found) throw new RowFault(found.fault.code, withFile(path, found.fault));
        if (wanted.file_field === undefined) outputs.pushLine(text);
        else {
          const row: Record<string, unknown> = { ...found.row };
          setField(row, wanted.file_field, path);
          outputs.pushLine(JSON.stringify(row));
        }
      });
      if (outputs.isOver) return;
      if (count.rows % BATCH_ROWS === 0 || outputs.isFull) yield;
    }
  } finally {
    opened.close();
  }
}

function within<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (thrown) {
    throw failureOf(thrown);
  }
}

async function* rowsOf(file: FoundFile, settings: ReadSettings): AsyncGenerator<FileRow, void> {
  const extension = file.path.split(".").at(-1)?.toLowerCase() ?? "";
  const format = settings.format === "auto" ? (FORMATS[extension] ?? "document") : settings.format;
  switch (format) {
    case "csv":
      return yield* readCsvRows(asText(file), settings);
    case "json":
      return yield* readJsonRows(asText(file));
    case "ndjson":
      return yield* readJsonLines(asText(file));
    case "xlsx": {
      const { readWorkbookRows } = await import("../files/workbook-rows.ts");
      return yield* readWorkbookRows(await asDocument(file), settings);
    }
    default: {
      const { readDocumentRows } = await import("../files/document-rows.ts");
      return yield* readDocumentRows(await asDocument(file));
    }
  }
}

function failureIn(path: string, thrown: unknown): ProgramFailure {
  const failure = failureOf(thrown);
  return new ProgramFailure(failure.code, withFile(path, failure), { cause: thrown });
}

function withFile(path: string, { message }: Error): string {
  return `'${path.slice(0, 200)}': ${message}`;
}

/** Whatever a library throws besides comes from the content. */
function failureOf(thrown: unknown): ProgramFailure {
  if (thrown instanceof ProgramFailure) return thrown;
  const isForPeople = thrown instanceof UnreadableFile || thrown instanceof FileFault;
  const message = isForPeople ? thrown.message : "The file is damaged or incomplete.";
  return new ProgramFailure(
    "unreadable_file",
    message.replace(" find_files lists its files.", ""),
    { cause: thrown },
  );
}
