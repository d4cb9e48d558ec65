import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { bundleProgram, nameBundledPrograms } from "../../scripts/bundle-program.mjs";

const SOURCES = fileURLToPath(new URL("../../src", import.meta.url));
const STARTED = /new URL\("(\.[^"]+\.ts)", import\.meta\.url\)/g;

/** Sources of programs that the server starts, by their path within `src`. */
async function startedPrograms(): Promise<string[]> {
  const found = new Set<string>();
  for (const entry of await readdir(SOURCES, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith(".ts")) continue;
    const source = await readFile(join(entry.parentPath, entry.name), "utf8");
    for (const [, path = ""] of source.matchAll(STARTED)) {
      found.add(relative(SOURCES, resolve(entry.parentPath, path)));
    }
  }
  return [...found];
}

// The server on Bun runs the sources.
describe.skipIf(process.versions["bun"] !== undefined)("what is made of the server", () => {
  test("has every program that it starts beside it, and each of them runs", async () => {
    const folder = dirname(await bundleProgram("src/main.ts"));
    const programs = await startedPrograms();
    expect(programs.length).toBeGreaterThan(4);
    for (const program of programs) {
      const path = join(folder, program.replace(/\.ts$/, ".mjs"));
      expect(existsSync(path), program).toBe(true);
      const run = promisify(execFile)(process.execPath, [path]);
      // Nothing comes: it has nothing to do.
      run.child.stdin?.end();
      await expect(run, program).resolves.toMatchObject({ stderr: "" });
    }
  });
});

test("names a started program by what was made of it, and other files by their source", () => {
  const source = `start(new URL("../b/work.ts", import.meta.url), new URL("./x.mjs", import.meta.url))`;
  const made = { main: "/made/src/main.mjs", mainSource: "/tree/src/main.ts" };
  const expected = JSON.stringify(pathToFileURL("/made/src/b/work.mjs").href);
  expect(nameBundledPrograms(source, "/tree/src/a/start.ts", made)).toBe(
    `start(new URL(${expected}), new URL("./x.mjs", import.meta.url))`,
  );
});
