// @ts-check
// The thread of the embedded copy, so that a long statement blocks no socket and no timer of its process.
// Plain JavaScript for the same reason as the thread of the embedded database.
import { existsSync, readFileSync } from "node:fs";
import { mkdir, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { PGlite } from "@electric-sql/pglite";
import { extractArchive } from "../../../db/embedded/extract-archive.mjs";
import { closeToOthers, PrivateFiles } from "../../../db/embedded/private-files.mjs";

/** @typedef {import("../../process/process-messages.ts").CopyConfig} CopyConfig */

// `RESET` returns to these values. The buffers stay small, because the pages are in the system's cache as well.
const START = [
  ...PGlite.defaultStartParams,
  ...["-c", "search_path=data"],
  ...["-c", "default_transaction_read_only=on"],
  ...["-c", "shared_buffers=32MB"],
  ...["-c", "synchronous_commit=off"],
];

/** @param {CopyConfig} config */
async function openDatabase({ folder, archive }) {
  const prepared = archive !== null && existsSync(archive) ? archive : undefined;
  if (folder === null) {
    const loadDataDir = prepared === undefined ? undefined : new Blob([await readFile(prepared)]);
    return PGlite.create({ startParams: START, ...(loadDataDir && { loadDataDir }) });
  }
  if (isDatabase(folder)) {
    // The copy is disposable: whatever does not open is made anew.
    const opened = await openFolder(folder).catch(() => undefined);
    if (opened !== undefined) return opened;
  }
  await createFolder(folder, prepared);
  return openFolder(folder);
}

/** @param {string} folder */
function isDatabase(folder) {
  try {
    return readFileSync(join(folder, "global", "pg_control")).length > 0;
  } catch {
    return false;
  }
}

/** @param {string} folder */
async function openFolder(folder) {
  closeToOthers(folder);
  await rm(join(folder, "base", "pgsql_tmp"), { recursive: true, force: true });
  return PGlite.create({ fs: new PrivateFiles(folder), startParams: START });
}

/**
 * @param {string} folder
 * @param {string | undefined} prepared
 */
async function createFolder(folder, prepared) {
  const unfinished = `${folder}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  await rm(folder, { recursive: true, force: true });
  await mkdir(dirname(folder), { recursive: true, mode: 0o700 });
  if (prepared !== undefined) extractArchive(prepared, unfinished);
  else {
    await mkdir(unfinished, { mode: 0o700 });
    await openFolder(unfinished).then((database) => database.close());
  }
  await rename(unfinished, folder);
}

try {
  const database = await openDatabase(workerData);
  parentPort?.on("message", (/** @type {Uint8Array | "close"} */ bytes) => {
    if (bytes === "close") {
      void database.close().finally(() => parentPort?.close());
      return;
    }
    try {
      const answer = database.execProtocolRawSync(bytes);
      parentPort?.postMessage(answer, [answer.buffer]);
    } catch (thrown) {
      parentPort?.postMessage({ failure: String(thrown) });
    }
  });
  parentPort?.postMessage({});
} catch (thrown) {
  parentPort?.postMessage({ failure: thrown instanceof Error ? thrown.message : String(thrown) });
}
