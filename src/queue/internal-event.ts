/** What is told of a file, whichever way it came. */
interface FileFacts {
  /** The folder that is watched, absolute. */
  readonly folder: string;
  /** From the folder, with slashes between its levels, as the file system spells it. */
  readonly path: string;
  /** The last level of the path. */
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  /** RFC 3339 in UTC, to the millisecond: the file's own time. */
  readonly modified_at: string;
  /** How the gateway came to know of it. */
  readonly source: "watched_folder";
}

/**
 * Every kind of event that parts of the gateway tell each other, with what it says. They are delivered at least once,
 * and not always in the order they happened in.
 *
 * - `file.uploaded`: a file is there, whole. `change` says whether it was known before.
 * - `file.deleted`: a file is gone; its size and time are the last ones known. A file that was renamed is deleted under
 *   its old name and uploaded under the new one.
 */
export type InternalEvent =
  | {
      readonly kind: "file.uploaded";
      readonly body: FileFacts & { readonly change: "created" | "modified" };
    }
  | { readonly kind: "file.deleted"; readonly body: FileFacts };

export type InternalEventKind = InternalEvent["kind"];
