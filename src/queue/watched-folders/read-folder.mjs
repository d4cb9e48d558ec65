// @ts-check
// The program that reads one watched folder, in a separate process. A network mount that hangs blocks the process that
// uses it, in Node its exit as well, and walking many files would delay every stream. It answers each line of its
// input, a request, with one line, and ends with its input. It reads only names, sizes and times of files.
import { createHash } from "node:crypto";
import { lstatSync, opendirSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";

/** @typedef {import("./folder-reader.ts").SeenFile} SeenFile */
/** @typedef {import("./folder-reader.ts").LeftOut} LeftOut */
/** @typedef {import("./folder-reader.ts").FolderPart} FolderPart */

/**
 * Names of incomplete files: hidden names (an editor's, rsync's, `.nfs…`, snapshots), Office's locks, and the suffixes
 * of browsers, curl, WinSCP and others. Folders with such names are not entered.
 */
const TEMPORARY = /^\.|^~\$|~$|\.(?:part|partial|tmp|temp|crdownload|download|filepart|swp)$/i;
/** Together with the folder's name it must fit into an entry of the database's index. */
const PATH_MAX_BYTES = 1_500;
/**
 * A part ends after one path in this many on average, chosen by the path itself: a new file changes only its own part.
 */
const PART_FILES = 512;
const PART_MAX_FILES = 1_500;
/** The last millisecond of a four-digit year. */
const LAST_TIME = 253_402_300_799_999;
/** Codes that prove that a file is gone; any other leaves that open. */
const GONE = new Set(["ENOENT", "ENOTDIR", "ELOOP"]);

const folder = process.argv[2] ?? "";

/** @param {unknown} thrown */
const codeOf = (thrown) =>
  thrown instanceof Error && "code" in thrown ? String(thrown.code) : "unknown";

function rootFacts() {
  const { dev, ino } = statSync(folder, { bigint: true });
  opendirSync(folder).closeSync();
  // Numbers that JSON and the database can represent.
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
 * Yields every file below the folder, in directory order. Symbolic links are not followed, other file systems not
 * entered.
 * @param {LeftOut} leftOut counted during the walk
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
 * @param {import("node:fs").Stats | undefined} stat undefined when the file is missing
 * @param {number} device of the root
 * @returns {"mounts" | "names" | undefined}
 */
function leftOutAs(path, stat, device) {
  // Bytes that are not UTF-8 are decoded as this character, so no file is found under such a name.
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
 * Yields the files in parts, each with a digest of its files. For a part whose digest is known only the digest is
 * returned.
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
 * Returns which of these are files in the folder, and which are gone; a path that cannot be checked is in neither list.
 * @param {readonly string[]} paths
 */
function find(paths) {
  const root = realpathSync(folder);
  const levels = new Map();
  const isWithin = (/** @type {string} */ level) => {
    // A symbolic link in place of a folder leads to files outside it.
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

/** @param {string} line */
function reply(line) {
  let result;
  try {
    result = answer(JSON.parse(line));
  } catch (thrown) {
    result = { failure: codeOf(thrown) };
  }
  process.stdout.write(`${JSON.stringify(result)}\n`);
}

// A signal to the whole group is for the server; this process ends with its input.
for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"]) process.on(signal, () => undefined);
process.stdin.setEncoding("utf8");
let input = "";
process.stdin
  .on("data", (/** @type {string} */ text) => {
    input += text;
    if (!text.includes("\n")) return;
    // Bun's readline ends lines at U+2028 and U+2029 too, which JSON leaves as they are, and names of files may have.
    const lines = input.split("\n");
    input = lines.pop() ?? "";
    for (const line of lines) reply(line);
  })
  .on("end", () => process.exit(0));
