import { fileURLToPath } from "node:url";
import type { Plugin } from "vitest/config";
import { bundleProgram, nameBundledPrograms } from "../../../scripts/bundle-program.mjs";

const SOURCES = fileURLToPath(new URL("../../../src/", import.meta.url));
const SERVER = "src/main.ts";

/**
 * Modules under test start their processes as a server on Node does, from what was made of their sources: the loader of
 * TypeScript takes most of such a start. What is made of them stays the same until the tests are started again.
 */
export async function startBundledPrograms(): Promise<Plugin> {
  // Before Vitest begins: the end of a build stops the bundler for all.
  const made = { main: await bundleProgram(SERVER), mainSource: `${SOURCES}main.ts` };
  return {
    name: "start bundled programs",
    enforce: "pre",
    transform: (source, path) =>
      path.startsWith(SOURCES) ? nameBundledPrograms(source, path, made) : undefined,
  };
}
