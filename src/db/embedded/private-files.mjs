// @ts-check
// The files of the embedded database. Its server creates them with modes of its own and changes the mode afterwards, so
// neither the process's umask nor the mode of the folder keeps other users of the machine out.
import { chmodSync, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { NodeFS } from "@electric-sql/pglite/nodefs";

const OTHERS = 0o077;
/** What PostgreSQL writes when it cannot go on. */
const FAILURE = /(?:PANIC|FATAL|DETAIL): +(.*)$/;

/** A folder of files that only this user reads, also those that the database creates later. */
export class PrivateFiles extends NodeFS {
  /** @type {string[]} */
  #failures = [];

  /** Why the database could not be opened, in its own words; undefined when it did not say. */
  get failure() {
    return this.#failures.length === 0 ? undefined : this.#failures.join(" ");
  }

  /**
   * @override
   * @param {Parameters<NodeFS["init"]>[0]} database
   * @param {Parameters<NodeFS["init"]>[1]} options
   */
  async init(database, options) {
    const { emscriptenOpts } = await super.init(database, options);
    return {
      emscriptenOpts: {
        ...emscriptenOpts,
        printErr: (/** @type {string} */ line) => this.#listen(line),
        preRun: [
          (/** @type {any} */ program) => maskModes(program.FS.filesystems.NODEFS),
          ...(emscriptenOpts.preRun ?? []),
        ],
      },
    };
  }

  /** @param {string} line */
  #listen(line) {
    const text = FAILURE.exec(line)?.[1];
    if (text !== undefined) this.#failures = [...this.#failures, text].slice(-2);
  }
}

/**
 * Takes every right from others, in a folder and below it.
 *
 * @param {string} path
 */
export function closeToOthers(path) {
  const status = lstatSync(path);
  if (status.isSymbolicLink()) return;
  if ((status.mode & OTHERS) !== 0) chmodSync(path, status.mode & 0o700);
  if (!status.isDirectory()) return;
  for (const name of readdirSync(path)) closeToOthers(join(path, name));
}

/**
 * Lets the file system of the database's program create and change modes without rights for others.
 *
 * @param {any} fileSystem
 */
function maskModes(fileSystem) {
  const { node_ops: nodes, stream_ops: streams } = fileSystem;
  const { mknod } = nodes;
  nodes.mknod = (
    /** @type {unknown} */ parent,
    /** @type {string} */ name,
    /** @type {number} */ mode,
    /** @type {unknown} */ device,
  ) => mknod(parent, name, mode & ~OTHERS, device);
  for (const operations of [nodes, streams]) {
    const { setattr } = operations;
    operations.setattr = (
      /** @type {unknown} */ target,
      /** @type {{ mode?: number | null }} */ change,
    ) => {
      const { mode } = change;
      setattr(target, typeof mode === "number" ? { ...change, mode: mode & ~OTHERS } : change);
    };
  }
}
