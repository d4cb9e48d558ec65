// @ts-check
// The program that reads one watched folder, in a process of its own: a network mount that hangs blocks the process that
// asks it, on Node its exit as well, and a walk through many files would delay every stream. It answers each line of its
// input, a question, with one line, and ends with its input. Only names, sizes and times of files are read.
import { createHash } from "node:crypto";
import { lstatSync, opendirSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** @typedef {import("./folder-reader.ts").SeenFile} SeenFile */
/** @typedef {import("./folder-reader.ts").LeftOut} LeftOut */
/** @typedef {import("./folder-reader.ts").FolderPart} FolderPart */

/**
 * What is not a complete file yet: hidden names (an editor's, rsync's, `.nfs…`, snapshots), Office's locks, and the
 * endings of browsers, curl, WinSCP and others. Folders of such names are not entered.
 */
const TEMPORARY = /^\.|^~\$|~$|\.(?:part|partial|tmp|temp|crdownload|download|filepart|swp)$/i;
/** With the folder's name it has to fit into an entry of the database's index. */
const PATH_MAX_BYTES = 1_500;
/** A part ends after one path of so many on average, chosen by the path itself: a new file changes only its own part. */
const PART_FILES = 512;
const PART_MAX_FILES = 1_500;
/** The last millisecond of a year of four digits. */
const LAST_TIME = 253_402_300_799_999;
/** A file is gone for these, and only perhaps for any other. */
const GONE = new Set(["ENOENT", "ENOTDIR", "ELOOP"]);

const folder = process.argv[2] ?? "";

/** @param {unknown} thrown */
const codeOf = (thrown) =>
  thrown instanceof Error && "code" in thrown ? String(thrown.code) : "unknown";

function rootFacts() {
  const { dev, ino } = statSync(folder, { bigint: true });
  opendirSync(folder).closeSync();
  // Numbers that JSON and the database can carry.
  return { device: String(dev), inode: Number(BigInt.asUintN(52, ino)) };
}

/** @param {string} path */
const lstat = (path) => lstatSync(join(folder, path), { throwIfNoEntry: false });

/**
 * @param {string} path
 * @param {{ size: number, mtimeMs: number }} stat
 * @returns {SeenFile}
 */
function seenFile(path, { size, mtimeMs }) {
  return { path, size, modifiedMs: Math.min(Math.max(0, Math.floor(mtimeMs)), LAST_TIME) };
}

/**
 * Every file below the folder, in the order of the directories. Symbolic links are not followed, other file systems not
 * entered.
 *
 * @param {LeftOut} leftOut counted while it goes
 * @returns {Generator<SeenFile, void>}
 */
function* filesBelow(leftOut) {
  const { dev } = statSync(folder);
  const pending = [""];
  for (let level = pending.pop(); level !== undefined; level = pending.pop()) {
    for (const path of pathsIn(level, leftOut)) {
      const stat = tryTo(() => lstat(path), leftOut);
      const left = leftOutAs(path, stat, dev);
      if (left !== undefined) leftOut[left] += 1;
      else if (stat?.isDirectory()) pending.push(`${path}/`);
      else if (stat?.isFile()) yield seenFile(path, stat);
    }
  }
}

/**
 * @param {string} path
 * @param {import("node:fs").Stats | undefined} stat undefined when it is not there
 * @param {number} device of the root
 * @returns {"mounts" | "names" | undefined}
 */
function leftOutAs(path, stat, device) {
  // Bytes that are no UTF-8 are read as this character, and nothing of such a name is found.
  if (stat === undefined) return path.includes("\ufffd") ? "names" : undefined;
  if (stat.isDirectory() && stat.dev !== device) return "mounts";
  return stat.isFile() && Buffer.byteLength(path) > PATH_MAX_BYTES ? "names" : undefined;
}

/**
 * @param {string} level
 * @param {LeftOut} leftOut
 */
function* pathsIn(level, leftOut) {
  const directory = tryTo(() => opendirSync(join(folder, level), { bufferSize: 256 }), leftOut);
  if (directory === undefined) return;
  try {
    for (;;) {
      const entry = tryTo(() => directory.readSync(), leftOut);
      if (entry === undefined || entry === null) return;
      if (!TEMPORARY.test(entry.name)) yield level + entry.name;
    }
  } finally {
    directory.closeSync();
  }
}

/**
 * @template Result
 * @param {() => Result} work
 * @param {LeftOut} leftOut
 */
function tryTo(work, leftOut) {
  try {
    return work();
  } catch (thrown) {
    leftOut.unreadable += GONE.has(codeOf(thrown)) ? 0 : 1;
    return undefined;
  }
}

/**
 * The files in parts, each with a digest of its files. Of a part whose digest is known only that is returned.
 *
 * @param {ReadonlySet<string>} known
 * @returns {Generator<FolderPart, void>}
 */
function* parts(known) {
  const leftOut = { unreadable: 0, mounts: 0, names: 0 };
  /** @type {SeenFile[]} */
  let files = [];
  let hash = createHash("sha256");
  const end = (/** @type {boolean} */ isLast) => {
    const digest = hash.digest("base64url");
    const isKnown = known.has(digest);
    const part = { digest, count: files.length, files: isKnown ? null : files, isLast, leftOut };
    files = [];
    hash = createHash("sha256");
    return part;
  };
  for (const file of filesBelow(leftOut)) {
    files.push(file);
    hash.update(`${file.path}\0${file.size}\0${file.modifiedMs}\0`);
    if (isBorder(file.path) || files.length === PART_MAX_FILES) yield end(false);
  }
  yield end(true);
}

/** @param {string} path */
function isBorder(path) {
  let hash = 0x811c9dc5;
  for (let at = 0; at < path.length; at += 1)
    hash = Math.imul(hash ^ path.charCodeAt(at), 0x01000193);
  return (hash >>> 8) % PART_FILES === 0;
}

/**
 * Which of these are files in the folder, and which are not; neither when that cannot be found out.
 *
 * @param {readonly string[]} paths
 */
function find(paths) {
  const root = realpathSync(folder);
  const levels = new Map();
  const isWithin = (/** @type {string} */ level) => {
    // A link in the place of a folder leads to files of somewhere else.
    if (!levels.has(level))
      levels.set(level, realpathSync(join(root, level)) === join(root, level));
    return levels.get(level);
  };
  /** @type {SeenFile[]} */
  const found = [];
  /** @type {string[]} */
  const gone = [];
  for (const path of paths) {
    try {
      const stat = isWithin(path.split("/").slice(0, -1).join("/")) ? lstat(path) : undefined;
      if (stat?.isFile()) found.push(seenFile(path, stat));
      else gone.push(path);
    } catch (thrown) {
      if (GONE.has(codeOf(thrown))) gone.push(path);
    }
  }
  return { found, gone };
}

/** @type {Generator<FolderPart, void> | undefined} */
let walk;

/** @param {{ ask: string, known?: string[], paths?: string[] }} question */
function answer({ ask, known = [], paths = [] }) {
  if (ask === "root") return rootFacts();
  if (ask === "find") return find(paths);
  if (ask === "walk") {
    walk?.return();
    walk = parts(new Set(known));
  }
  return walk?.next().value;
}

// The server acts on signals to the whole group; this process ends with its input.
process.on("SIGINT", () => undefined);
process.on("SIGTERM", () => undefined);
createInterface({ input: process.stdin })
  .on("line", (line) => {
    let reply;
    try {
      reply = answer(JSON.parse(line));
    } catch (thrown) {
      reply = { failure: codeOf(thrown) };
    }
    process.stdout.write(`${JSON.stringify(reply)}\n`);
  })
  .on("close", () => process.exit(0));
