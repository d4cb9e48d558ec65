// @ts-check
// Keeps the embedded database's files private. Its server creates them with its own modes and changes the modes later.
// So neither the process's umask nor the folder's mode keeps other users out.
import { chmodSync, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { NodeFS } from "@electric-sql/pglite/nodefs";

const OTHERS = 0o077;
/** The output of PostgreSQL when it cannot continue. */
const FAILURE = /(?:PANIC|FATAL|DETAIL): +(.*)$/;

/** A folder whose files only this user can read, including files that the database creates later. */
export class PrivateFiles extends NodeFS {
  /** @type {string[]} */
  #failures = [];

  /** The database's own reason why it could not be opened; undefined when it gave none. */
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
 * Removes all permissions of other users from a folder and its contents.
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
 * Makes the file system of the database's program create files and change modes without permissions for others.
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
