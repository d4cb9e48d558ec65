// Creates the empty embedded database that a first start loads; creating one takes seconds, loading it does not.
// Runs under Node >= 20.19 or Bun, once after each installation of the dependencies. Does nothing if the file exists.
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";

const modules = new URL("../node_modules/", import.meta.url);
const { version } = JSON.parse(
  readFileSync(new URL("@electric-sql/pglite/package.json", modules), "utf8"),
);
const folder = new URL(".cache/inference-gateway/", modules);
const archive = new URL(`embedded-database-${version}.tar.gz`, folder);

if (!existsSync(archive)) {
  const { PGlite } = await import("@electric-sql/pglite");
  const database = await PGlite.create();
  const dump = await database.dumpDataDir("gzip");
  await database.close();
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder)) {
    if (name.startsWith("embedded-database-")) rmSync(new URL(name, folder));
  }
  const unfinished = new URL(`unfinished-${process.pid}.tar.gz`, folder);
  writeFileSync(unfinished, new Uint8Array(await dump.arrayBuffer()));
  renameSync(unfinished, archive);
}
