import type { ProtectedFolders } from "../../knowledge/file-connections.ts";

/** The file connection that a job reads. */
export interface Place {
  /** Its name, for texts. */
  readonly connection: string;
  /** Absolute. */
  readonly folder: string;
  readonly hidden: ProtectedFolders;
}

interface JobLimits {
  /** Bytes of the text that is returned. */
  readonly maxBytes: number;
  /** The work then returns what it has: milliseconds of `nowMs`, which counts alike in every process. */
  readonly endsAtMs: number;
}

/** Reports whether the connection can be read. */
export interface CheckJob {
  readonly kind: "check";
  readonly place: Place;
}

export interface FindJob extends JobLimits {
  readonly kind: "find";
  readonly place: Place;
  readonly glob: string;
  readonly type: "file" | "folder";
  readonly withHidden: boolean;
  readonly limit: number;
}

export interface SearchJob extends JobLimits {
  readonly kind: "search";
  readonly place: Place;
  /** Literal. */
  readonly text: string;
  readonly caseSensitive: boolean;
  readonly glob: string;
  readonly withHidden: boolean;
  readonly limit: number;
}

export interface ReadJob extends JobLimits {
  readonly kind: "read";
  readonly place: Place;
  /** As the model wrote it. */
  readonly path: string;
  /** The first line, from 1. */
  readonly offset: number;
  /** Lines. */
  readonly limit: number;
}

/** What the process that reads files is asked for. Its one result is a text for the model. */
export type FileJob = CheckJob | FindJob | SearchJob | ReadJob;

/** The time since 1970, without the jumps of the clock while a process runs. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

/** The code of a `FileFault`, which passes from the process to the server. */
export const FILE_FAULT = "file_fault";

/** Why a job cannot be done, for the model. */
export class FileFault extends Error {
  override readonly name = "FileFault";
  readonly code = FILE_FAULT;
}
