import type { AnyActor } from "../../../access/actor.ts";
import { type ChangeFrame, change } from "../../../access/change.ts";
import { ServiceError } from "../../../core/service-error.ts";
import { isStorableText } from "../../../lib/text/storable-text.ts";
import { detailsOf, newDatasetRow } from "../change-dataset.ts";
import { unknownColumn } from "../check-rows.ts";
import { createLoad } from "../dataset-load.ts";
import {
  type DatasetStore,
  readWritable,
  refuseRestrictedKey,
  refuseSharing,
} from "../dataset-store.ts";
import type { Dataset, DatasetChange, DatasetLoad, NewDataset } from "../datasets.ts";
import type { TableFile, TableFiles } from "./table-files.ts";
import type { TableBatch, TableField } from "./table-job.ts";

/** Wrong rows that are named; the rest of the file is not read once there are so many. */
const FAULTS_MAX = 100;
const NOT_READ = "The rows were not read: first the headings have to be right.";
const TOO_MANY = "There may be more wrong rows: reading ended here.";
const MAX_HEADING_CHARACTERS = 1_000;
/** A large upsert that met other changes is prepared again so often. */
const COMMITS_MAX = 3;

export interface Import {
  readonly store: DatasetStore;
  readonly files: TableFiles;
  readonly actor: AnyActor;
  readonly file: TableFile;
  readonly signal: AbortSignal;
}

/** Adds the rows of a file to a dataset, all or none. Rejects with `invalid_value` that names the wrong rows. */
export async function importRows(
  given: Import,
  { id, mode }: { readonly id: string; readonly mode: DatasetChange },
): Promise<{ readonly dataset: Dataset; readonly rows: number }> {
  const { store, actor } = given;
  const dataset = await store.database.ask((db) => readWritable(db, actor.caller, id));
  const load = createLoad(store, { dataset, isNew: false }, mode);
  const frame = frameOf("import", dataset.id);
  return finish(given, load, {
    fields: dataset.columns,
    frame,
    details: (rows) => ({ name: dataset.name, mode, rows }),
  });
}

/** Creates a dataset from a file, with the columns that all its rows suggest. */
export async function importDataset(
  given: Import,
  asked: Omit<NewDataset, "columns">,
): Promise<{ readonly dataset: Dataset; readonly rows: number }> {
  const { store, files, actor, file, signal } = given;
  refuseRestrictedKey(actor.caller);
  refuseSharing(asked.visibility, actor.caller);
  const fields = await files.infer(file, signal);
  const columns = fields.map(keptColumn);
  const dataset = newDatasetRow(actor.caller.ownerId, { ...asked, columns }, store.clock.now());
  const load = createLoad(store, { dataset, isNew: true }, "append");
  const frame = frameOf("create", dataset.id);
  return finish(given, load, {
    fields,
    frame,
    details: (rows) => ({ ...detailsOf(dataset), rows }),
  });
}

/** The next file finds the column by the heading again, because the name does not tell which heading it was. */
function keptColumn({ name, type, heading = name }: TableField): TableField {
  const isKept =
    heading !== name && heading.length <= MAX_HEADING_CHARACTERS && isStorableText(heading);
  return { name, type, ...(isKept && { heading }) };
}

interface Finish {
  readonly fields: readonly TableField[];
  readonly frame: ChangeFrame;
  readonly details: (rows: number) => {
    readonly [name: string]: string | number | readonly string[];
  };
}

async function finish(
  { store, files, actor, file, signal }: Import,
  load: DatasetLoad,
  { fields, frame, details }: Finish,
): Promise<{ readonly dataset: Dataset; readonly rows: number }> {
  try {
    const rows = await addRows(load, fields, files.read(file, fields, signal));
    for (let tries = 1; ; tries += 1) {
      await load.prepare();
      signal.throwIfAborted();
      const committing = change(store, actor, frame, async (transaction) => {
        if (frame.action !== "dataset.create") {
          await readWritable(transaction, actor.caller, frame.targetId ?? "");
        }
        return { result: await load.commit(transaction, null), details: details(rows) };
      });
      try {
        const dataset = await committing;
        store.wake();
        return { dataset, rows };
      } catch (thrown) {
        if (tries === COMMITS_MAX || !isChanged(thrown)) throw thrown;
      }
    }
  } finally {
    await load.discard();
  }
}

/** Adds all rows and returns their number. Rejects with `invalid_value` that names the wrong ones. */
async function addRows(
  load: DatasetLoad,
  fields: readonly TableField[],
  batches: AsyncIterable<TableBatch>,
): Promise<number> {
  const faults: LineFault[] = [];
  let rows = 0;
  try {
    for await (const batch of batches) {
      refuseHeadings(batch.headings, fields);
      for (const { row, column, message } of await load.add(batch.rows)) {
        faults.push({ line: batch.lines[row - rows - 1] ?? 0, column, message });
      }
      rows += batch.rows.length;
      if (faults.length >= FAULTS_MAX) break;
    }
  } catch (thrown) {
    // A row that cannot be read ends the file; those before it are named all the same.
    if (faults.length === 0 || !(thrown instanceof ServiceError)) throw thrown;
    throw badRows(faults, thrown.message);
  }
  if (faults.length > 0) throw badRows(faults);
  return rows;
}

/** Without this, a file of other headings and no rows would empty a dataset that it replaces. */
function refuseHeadings(headings: TableBatch["headings"], fields: readonly TableField[]): void {
  if (headings === undefined) return;
  const { names, line } = headings;
  const known = new Set(fields.map(({ name }) => name));
  const faults = names
    .filter((name) => !known.has(name))
    .map((name) => ({ line, ...unknownColumn(name) }));
  if (faults.length > 0) throw badRows(faults, NOT_READ);
}

function isChanged(thrown: unknown): boolean {
  return thrown instanceof ServiceError && thrown.code === "changed_meanwhile";
}

function frameOf(verb: "create" | "import", id: string): ChangeFrame {
  return { action: `dataset.${verb}`, targetKind: "dataset", targetId: id };
}

interface LineFault {
  readonly line: number;
  readonly column: string | null;
  readonly message: string;
}

/** @param end why the file was not read further. */
function badRows(found: readonly LineFault[], end?: string): ServiceError {
  const faults = found.slice(0, FAULTS_MAX);
  const { line = 0, column = null, message = "" } = faults[0] ?? {};
  const place = column === null ? `Line ${line}` : `Line ${line}, column '${column}'`;
  const errors = faults.map((fault) => ({ ...fault }));
  return new ServiceError("invalid_value", `${place}: ${message}. Nothing was written.`, {
    ...(column !== null && { param: column }),
    ext: { errors, end: end ?? (found.length >= FAULTS_MAX ? TOO_MANY : null) },
  });
}
