// @ts-check
// The thread of the embedded database, so that a long query does not block streams.
// Plain JavaScript: on Node a thread would first have to load the TypeScript loader, which takes half of its start time.
import { existsSync } from "node:fs";
import { chmod, open, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { PGlite } from "@electric-sql/pglite";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";
import { extractArchive } from "./extract-archive.mjs";
import { closeToOthers, PrivateFiles } from "./private-files.mjs";

/** @typedef {import("./start-embedded.ts").EmbeddedOptions} EmbeddedOptions */

/** One for the pool; the rest for connections that are still closing while their successors open. */
const CONNECTIONS_MAX = 4;

/** The database's own reason why it cannot be opened. */
class OpenFailure extends Error {}

/** @param {EmbeddedOptions} options */
async function openDatabase({ folder, archive, isNew }) {
  const prepared = archive !== undefined && existsSync(archive) ? archive : undefined;
  if (folder === undefined) {
    if (prepared === undefined) return PGlite.create();
    return PGlite.create({ loadDataDir: new Blob([await readFile(prepared)]) });
  }
  if (isNew) await createFolder(folder, prepared);
  closeToOthers(folder);
  // Temporary files of large results, left over when the process was killed. A multi-process server removes them
  // itself.
  await rm(join(folder, "base", "pgsql_tmp"), { recursive: true, force: true });
  return openFolder(folder);
}

/** @param {string} folder */
async function openFolder(folder) {
  const fs = new PrivateFiles(folder);
  try {
    return await PGlite.create({ fs });
  } catch (thrown) {
    // The thrown error mostly reports only that the program was aborted.
    throw fs.failure === undefined ? thrown : new OpenFailure(fs.failure);
  }
}

/**
 * Creates the database next to its final place and moves it there, so that a kill leaves nothing half done.
 *
 * @param {string} folder
 * @param {string | undefined} prepared
 */
async function createFolder(folder, prepared) {
  const unfinished = `${folder}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  if (prepared !== undefined) extractArchive(prepared, unfinished);
  else await openFolder(unfinished).then((database) => database.close());
  await rename(unfinished, folder);
  const parent = await open(dirname(folder), "r");
  await parent.sync().finally(() => parent.close());
}

/** @param {EmbeddedOptions} options */
async function serve(options) {
  const database = await openDatabase(options);
  const server = new PGLiteSocketServer({
    db: database,
    path: options.socketPath,
    maxConnections: CONNECTIONS_MAX,
  });
  await server.start();
  await chmod(options.socketPath, 0o600);
  // Any message requests the close.
  parentPort?.once("message", async () => {
    await server.stop();
    await database.close().finally(() => parentPort?.close());
  });
}

/** @param {import("./start-embedded.ts").Report} report */
const report = (report) => parentPort?.postMessage(report);

serve(workerData).then(
  () => report({}),
  (thrown) =>
    report({
      failure: thrown instanceof Error ? thrown.message : String(thrown),
      isInItsWords: thrown instanceof OpenFailure,
    }),
);
