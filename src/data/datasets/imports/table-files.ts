import { fileURLToPath } from "node:url";
import { ServiceError } from "../../../core/service-error.ts";
import { READ_LIMITS } from "../../../knowledge/readers/reader.ts";
import { openWorkers } from "../../../lib/worker/open-workers.ts";
import { WorkFailure } from "../../../lib/worker/work-failure.ts";
import type { TableBatch, TableField, TableFormat, TableJob } from "./table-job.ts";

const PROGRAM = fileURLToPath(new URL("./read-tables.ts", import.meta.url));
const PROCESSES = 2;
const IDLE_MS = 60_000;
/** For one pass over a file, without what the database takes. */
const TIME_MS = 10 * 60_000;
/** Of the rows of a file of 256 MiB as JSON, whose names are in each row. */
const OUTPUT_BYTES = 16 * 1024 ** 3;

export interface TableFile {
  readonly path: string;
  readonly format: TableFormat;
}

/** Reads tables that others sent in processes of their own: a spreadsheet of some kilobytes can unpack to gigabytes. */
export interface TableFiles {
  /** Finds the columns from all rows. Rejects with `invalid_value`. */
  readonly infer: (file: TableFile, signal: AbortSignal) => Promise<readonly TableField[]>;
  /** Yields the rows with the names of the fields. Throws `invalid_value` that names the line. */
  readonly read: (
    file: TableFile,
    fields: readonly TableField[],
    signal: AbortSignal,
  ) => AsyncGenerator<TableBatch, void>;
  readonly close: () => void;
}

export function openTableFiles(): TableFiles {
  const { memoryBytes } = READ_LIMITS;
  const options = { program: PROGRAM, processes: PROCESSES, memoryBytes, idleMs: IDLE_MS };
  const workers = openWorkers(options);
  async function* run(job: TableJob, signal: AbortSignal): AsyncGenerator<unknown, void> {
    try {
      yield* workers.run(job, { signal, timeMs: TIME_MS, outputBytes: OUTPUT_BYTES });
    } catch (thrown) {
      throw thrown instanceof WorkFailure ? toServiceError(thrown) : thrown;
    }
  }
  return {
    async infer(file, signal) {
      for await (const fields of run({ kind: "infer", ...file }, signal)) {
        return fields as readonly TableField[];
      }
      throw new ServiceError("invalid_value", "The file has no columns.");
    },
    async *read(file, fields, signal) {
      for await (const batch of run({ kind: "read", ...file, fields }, signal)) {
        yield batch as TableBatch;
      }
    },
    close: workers.close,
  };
}

function toServiceError({ reason, code, message }: WorkFailure): ServiceError {
  switch (reason) {
    case "failed":
      return new ServiceError("invalid_value", message, code ? { param: code } : {});
    case "time":
      return invalid(`Reading the file took more than ${TIME_MS / 60_000} minutes; divide it.`);
    case "memory":
      return invalid(
        `Reading the file needs more than ${READ_LIMITS.memoryBytes / 1024 ** 2} MiB of memory; send it as CSV.`,
      );
    case "output":
      return invalid("The file holds a row or more rows than can be read; divide it.");
    case "crashed":
    case "closed":
      return new ServiceError("overloaded", "The file could not be read now; send it again.");
  }
}

function invalid(message: string): ServiceError {
  return new ServiceError("invalid_value", message);
}
