// @ts-check
// The thread in which the embedded database runs, so that a long query stops no stream.
// Plain JavaScript: on Node a thread would first have to load the TypeScript loader, which costs half its start.
import { existsSync } from "node:fs";
import { chmod, open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { PGlite } from "@electric-sql/pglite";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";

/** @typedef {import("./start-embedded.ts").EmbeddedOptions} EmbeddedOptions */

/** One for the pool, the rest for a connection that closes while its successor opens. */
const CONNECTIONS_MAX = 4;

/** @param {string | undefined} path */
async function loadArchive(path) {
  if (path === undefined || !existsSync(path)) return {};
  return { loadDataDir: new Blob([await readFile(path)]) };
}

/** @param {EmbeddedOptions} options */
async function openDatabase({ folder, archive }) {
  if (folder === undefined) return PGlite.create(await loadArchive(archive));
  if (!existsSync(folder)) await createFolder(folder, archive);
  return PGlite.create({ dataDir: folder });
}

/**
 * Makes the database beside its place and moves it there, so that a kill leaves nothing half made.
 *
 * @param {string} folder
 * @param {string | undefined} archive
 */
async function createFolder(folder, archive) {
  const unfinished = `${folder}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  const database = await PGlite.create({ dataDir: unfinished, ...(await loadArchive(archive)) });
  await database.close();
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

/** @param {string | undefined} failure */
const report = (failure) => parentPort?.postMessage({ failure });

serve(workerData).then(
  () => report(undefined),
  (thrown) => report(thrown instanceof Error ? thrown.message : String(thrown)),
);
