// @ts-check
// The thread in which the embedded database runs, so that a long query stops no stream.
// Plain JavaScript: on Node a thread would first have to load the TypeScript loader, which costs half its start.
import { existsSync } from "node:fs";
import { chmod, open, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { PGlite } from "@electric-sql/pglite";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";
import { extractArchive } from "./extract-archive.mjs";
import { closeToOthers, PrivateFiles } from "./private-files.mjs";

/** @typedef {import("./start-embedded.ts").EmbeddedOptions} EmbeddedOptions */

/** One for the pool, the rest for a connection that closes while its successor opens. */
const CONNECTIONS_MAX = 4;

/** The database's own words for why it cannot be opened. */
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
  // What large results were put aside in when the process was killed; a server of many processes sees to that itself.
  await rm(join(folder, "base", "pgsql_tmp"), { recursive: true, force: true });
  return openFolder(folder);
}

/** @param {string} folder */
async function openFolder(folder) {
  const fs = new PrivateFiles(folder);
  try {
    return await PGlite.create({ fs });
  } catch (thrown) {
    // What is thrown says of most failures that the program was aborted, and nothing else.
    throw fs.failure === undefined ? thrown : new OpenFailure(fs.failure);
  }
}

/**
 * Makes the database beside its place and moves it there, so that a kill leaves nothing half made.
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
  // Any message means: close.
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
