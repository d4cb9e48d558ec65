import { fileURLToPath } from "node:url";
import type { Settings } from "../../config/settings.ts";
import { coversName } from "../../core/name-patterns.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Assistant } from "../../knowledge/assistants/assistant.ts";
import type { FileConnection, FileConnections } from "../../knowledge/file-connections.ts";
import { READ_LIMITS } from "../../knowledge/readers/reader.ts";
import { openWorkers } from "../../lib/worker/open-workers.ts";
import { WorkFailure } from "../../lib/worker/work-failure.ts";
import { FILE_FAULT, type FileJob, nowMs, type Place } from "./file-job.ts";

const PROGRAM = fileURLToPath(new URL("./work-on-files.ts", import.meta.url));
const PROCESSES = 4;
const IDLE_MS = 60_000;
/** The part of a call's time after which the work ends with what it has. */
const WORK_SHARE = 0.5;
const WORK_MAX_MS = 20_000;
/** Bytes of JSON for a byte of text, at most. */
const JSON_FACTOR = 6;
const JSON_MORE_BYTES = 4_096;

/** What the tools that read file connections share. */
export interface FileTools {
  /** The connections that exist for the assistant. */
  readonly connectionsOf: (assistant: Assistant) => readonly FileConnection[];
  /**
   * Returns the connection of this name, or the only one when none is named. Throws a `ServiceError` for one that does
   * not exist for the assistant.
   */
  readonly choose: (assistant: Assistant, name: unknown) => Place;
  /** Runs a job in a process of its own. Rejects with a `ServiceError` for the model, or the signal's reason. */
  readonly run: (job: FileJob, signal: AbortSignal) => Promise<string>;
  /** The bounds of a job that begins now. */
  readonly limits: () => { readonly maxBytes: number; readonly endsAtMs: number };
  readonly close: () => void;
}

export type FileToolSettings = Pick<Settings, "TOOL_TIMEOUT_MS" | "TOOL_RESULT_MAX_BYTES">;

/** Processes start with the first job. */
export function openFileTools(
  { list, hidden }: Pick<FileConnections, "list" | "hidden">,
  { TOOL_TIMEOUT_MS, TOOL_RESULT_MAX_BYTES: maxBytes }: FileToolSettings,
): FileTools {
  const { memoryBytes } = READ_LIMITS;
  const workers = openWorkers({
    program: PROGRAM,
    processes: PROCESSES,
    memoryBytes,
    idleMs: IDLE_MS,
  });
  const connectionsOf = ({ fileConnections }: Assistant) =>
    list().filter(({ name }) => coversName(fileConnections, name));
  return {
    connectionsOf,
    choose(assistant, name) {
      const connections = connectionsOf(assistant);
      const found =
        name === undefined && connections.length === 1
          ? connections[0]
          : connections.find((connection) => connection.name === name);
      if (found === undefined) throw unknownConnection(name, connections);
      return { connection: found.name, folder: found.folder, hidden };
    },
    async run(job, signal) {
      const outputBytes = maxBytes * JSON_FACTOR + JSON_MORE_BYTES;
      try {
        const limits = { signal, timeMs: READ_LIMITS.timeMs, outputBytes };
        let text = "";
        // The process is used again only after the end of its results.
        for await (const result of workers.run(job, limits)) text = String(result);
        return text;
      } catch (thrown) {
        throw thrown instanceof WorkFailure ? faultOf(thrown) : thrown;
      }
    },
    limits: () => ({
      maxBytes,
      endsAtMs: nowMs() + Math.min(WORK_MAX_MS, TOOL_TIMEOUT_MS * WORK_SHARE),
    }),
    close: workers.close,
  };
}

function unknownConnection(name: unknown, all: readonly FileConnection[]): ServiceError {
  const names = all.map((connection) => `'${connection.name}'`).join(", ");
  return new ServiceError(
    "not_found",
    typeof name === "string"
      ? `There is no file connection '${name.slice(0, 64)}'. There is ${names}.`
      : `Name the file connection: there is ${names}.`,
  );
}

function faultOf({ reason, code, message }: WorkFailure): Error {
  switch (reason) {
    case "failed":
      return code === FILE_FAULT ? new ServiceError("invalid_value", message) : new Error(message);
    case "time":
      return new ServiceError("upstream_timeout", "The folder did not answer in time.");
    case "memory":
      return new ServiceError("invalid_value", "It needs more memory than one call may take.");
    case "output":
      return new ServiceError("invalid_value", "The result is too large.");
    case "crashed":
    case "closed":
      return new ServiceError("overloaded", "The process that reads files ended. Try again.");
  }
}
