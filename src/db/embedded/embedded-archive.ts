import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const MODULES = new URL("../../../node_modules/", import.meta.url);

/**
 * Path of the prepared empty database, which spares the first start the making of one. It is made after the
 * installation of the dependencies by scripts/prepare-embedded-database.mjs and named after the version it fits.
 */
export function embeddedArchive(): string {
  const description = readFileSync(new URL("@electric-sql/pglite/package.json", MODULES), "utf8");
  const { version } = JSON.parse(description) as { version: string };
  const name = `.cache/inference-gateway/embedded-database-${version}.tar.gz`;
  return fileURLToPath(new URL(name, MODULES));
}
