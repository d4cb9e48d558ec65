import type { AnyActor } from "../../../access/actor.ts";
import { type ChangeFrame, change } from "../../../access/change.ts";
import { ServiceError } from "../../../core/service-error.ts";
import type { DatasetColumn } from "../../../db/tables/datasets.ts";
import { detailsOf, newDatasetRow } from "../change-dataset.ts";
import { createLoad } from "../dataset-load.ts";
import {
  type DatasetStore,
  readWritable,
  refuseRestrictedKey,
  refuseSharing,
} from "../dataset-store.ts";
import type { Dataset, DatasetChange, DatasetLoad, NewDataset } from "../datasets.ts";
import type { TableFile, TableFiles } from "./table-files.ts";
import type { TableField } from "./table-job.ts";

/** A large upsert that met other changes is prepared again so often. */
const COMMITS_MAX = 3;

export interface Import {
  readonly store: DatasetStore;
  readonly files: TableFiles;
  readonly actor: AnyActor;
  readonly file: TableFile;
  readonly signal: AbortSignal;
}

/** Adds the rows of a file to a dataset, all or none. Rejects with `invalid_value` that names the first wrong row. */
export async function importRows(
  given: Import,
  { id, mode }: { readonly id: string; readonly mode: DatasetChange },
): Promise<{ readonly dataset: Dataset; readonly rows: number }> {
  const { store, actor } = given;
  const dataset = await store.database.ask((db) => readWritable(db, actor.caller, id));
  const fields = dataset.columns.map((column) => ({ ...column, heading: column.name }));
  const load = createLoad(store, { dataset, isNew: false }, mode);
  const frame = frameOf("import", dataset.id);
  return finish(given, load, {
    fields,
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
  const columns: DatasetColumn[] = fields.map(({ name, type }) => ({ name, type }));
  const dataset = newDatasetRow(actor.caller.ownerId, { ...asked, columns }, store.clock.now());
  const load = createLoad(store, { dataset, isNew: true }, "append");
  const frame = frameOf("create", dataset.id);
  return finish(given, load, {
    fields,
    frame,
    details: (rows) => ({ ...detailsOf(dataset), rows }),
  });
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
  let rows = 0;
  try {
    for await (const batch of files.read(file, fields, signal)) {
      const [fault] = await load.add(batch.rows);
      if (fault !== undefined) {
        const line = batch.lines[fault.row - rows - 1] ?? 0;
        throw badRow(line, fault.column, fault.message);
      }
      rows += batch.rows.length;
    }
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

function isChanged(thrown: unknown): boolean {
  return thrown instanceof ServiceError && thrown.code === "changed_meanwhile";
}

function frameOf(verb: "create" | "import", id: string): ChangeFrame {
  return { action: `dataset.${verb}`, targetKind: "dataset", targetId: id };
}

function badRow(line: number, column: string | null, message: string): ServiceError {
  const place = column === null ? `Line ${line}` : `Line ${line}, column '${column}'`;
  const param = column === null ? {} : { param: column };
  return new ServiceError("invalid_value", `${place}: ${message}. Nothing was written.`, param);
}
