import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { cp, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { PGlite } from "@electric-sql/pglite";
import { databaseFolder } from "../../../../src/config/folders.ts";
import { openEmbedded } from "../../../../src/db/embedded/open-embedded.ts";
import { migrate } from "../../../../src/db/migrate.ts";
import { embeddedArchive } from "../../../../src/db/open-db.ts";
import { createLog } from "../../../../src/lib/log.ts";

const PREPARE = fileURLToPath(
  new URL("../../../../scripts/prepare-embedded-database.mjs", import.meta.url),
);
const MIGRATIONS = fileURLToPath(new URL("../../../../drizzle", import.meta.url));
const MEMORY_IMAGE = "database.tar";

/** Makes the archive of the empty database when the installation has not. */
export async function emptyArchive(): Promise<string> {
  if (!existsSync(embeddedArchive())) await promisify(execFile)(process.execPath, [PREPARE]);
  return embeddedArchive();
}

/** An embedded database whose schema is this release's, for a database in memory: migrations cost more than its start. */
export async function migratedArchive(): Promise<string> {
  return join(await preparedFolder(), MEMORY_IMAGE);
}

/** Puts such a database into a data folder in which none is. */
export async function placeMigratedDatabase(dataDir: string): Promise<void> {
  const from = databaseFolder(await preparedFolder());
  await cp(from, databaseFolder(dataDir), { recursive: true, errorOnExist: true, force: false });
}

let prepared: Promise<string> | undefined;

function preparedFolder(): Promise<string> {
  prepared ??= prepare();
  return prepared;
}

/** Made once for each state of the migrations, and kept beside the empty one. */
async function prepare(): Promise<string> {
  const empty = await emptyArchive();
  const digest = createHash("sha256").update(empty);
  for (const name of readdirSync(MIGRATIONS)
    .filter((name) => name.endsWith(".sql"))
    .sort())
    digest.update(name).update(readFileSync(join(MIGRATIONS, name)));
  const name = `migrated-database-${digest.digest("hex").slice(0, 16)}`;
  const folder = join(dirname(empty), name);
  if (existsSync(folder)) return folder;
  const draft = await mkdtemp(join(dirname(empty), "unfinished-"));
  await makeDatabase(draft, empty);
  // Another test file may have been first.
  await rename(draft, folder).catch(() => rm(draft, { recursive: true, force: true }));
  return folder;
}

async function makeDatabase(dataFolder: string, archive: string): Promise<void> {
  const log = createLog("error");
  const limits = { waitMs: 60_000, limitMs: () => 60_000 };
  const database = await openEmbedded({ dataFolder, archive, ...limits, log });
  await migrate(database).finally(() => database.close());
  const image = await PGlite.create({ dataDir: databaseFolder(dataFolder) });
  // Uncompressed, because loading it is what is done often.
  const tar = await image.dumpDataDir("none").finally(() => image.close());
  await writeFile(join(dataFolder, MEMORY_IMAGE), new Uint8Array(await tar.arrayBuffer()));
}
