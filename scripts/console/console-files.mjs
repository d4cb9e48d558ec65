// Where the console's sources and builds are, and how they are compared. Used by the tasks and by vite.config.ts.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export const SOURCES = join(ROOT, "src/console");
export const BUILDS = join(ROOT, "dist/console");
/** Made from the routes, and no part of what is built: types leave no trace in it. */
export const API_TYPES = join(SOURCES, "api/schema.d.ts");

const MANIFEST = join(BUILDS, "build.json");
const INPUTS = [SOURCES, join(ROOT, "scripts/console")];

/** Returns the hash of everything that a build is made from. */
export function stampOfSources() {
  const files = INPUTS.flatMap(listFiles).filter((file) => file !== API_TYPES);
  const hash = createHash("sha256");
  for (const file of [...files.sort(), join(ROOT, "package.json"), join(ROOT, "bun.lockb")]) {
    const text = readFileSync(file);
    hash.update(`${file.slice(ROOT.length)}\0${text.length}\0`).update(text);
  }
  return hash.digest("hex");
}

/**
 * Returns the manifest of the newest build, `{id, stamp, watched, files}`; undefined when there is none that is whole.
 */
export function readManifest() {
  try {
    const manifest = JSON.parse(readFileSync(MANIFEST, "utf8"));
    return existsSync(join(BUILDS, manifest.id, "index.html")) ? manifest : undefined;
  } catch {
    return undefined;
  }
}

/** Replaces the manifest at once: a server that reads it meets the old one or the new one. */
export function writeManifest(manifest) {
  const draft = `${MANIFEST}.${process.pid}`;
  writeFileSync(draft, JSON.stringify(manifest));
  renameSync(draft, MANIFEST);
}

function listFiles(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? listFiles(path) : [path];
  });
}
