import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const CACHE = join(ROOT, "node_modules/.cache/inference-gateway/bundles");
const OLD_MS = 86_400_000;
/** They bring machine code or WebAssembly, which they look for beside themselves. */
const WITH_BINARIES = ["@node-rs/argon2", "@electric-sql/*", "esbuild"];
/** Packages in CommonJS call it, and a module has none. */
const REQUIRE = `import { createRequire as makeRequire } from "node:module"; const require = makeRequire(import.meta.filename);`;
/** What a program is started with, so that nothing is spent on optimising WebAssembly that runs for a moment. */
export const SHORT_LIVED = { BUN_JSC_useOMGJIT: "0" };
/** For the same reason: V8 would spend seconds of processor time on the embedded database, and optimise code too early. */
export const SHORT_LIVED_ON_NODE = ["--liftoff-only", "--interrupt-budget=2000000"];

/**
 * What runs a program of ours, on the runtime that runs the tests: command and arguments. Node is given one file of
 * JavaScript, because loading 700 modules takes three quarters of a server's start, and tests start hundreds.
 *
 * @param program from the root of the project, such as `src/main.ts`.
 */
export async function commandOf(program: string): Promise<readonly string[]> {
  if (process.versions["bun"] !== undefined) {
    // The command may be run in another folder.
    return [process.execPath, "--no-env-file", resolve(ROOT, program)];
  }
  let bundle = bundles.get(program);
  if (bundle === undefined) {
    // One after another: the end of a build stops the bundler for all.
    bundle = last.then(() => makeBundle(program));
    last = bundle.catch(() => undefined);
    bundles.set(program, bundle);
  }
  const quiet = "--disable-warning=ExperimentalWarning";
  return [process.execPath, ...SHORT_LIVED_ON_NODE, quiet, await bundle];
}

const bundles = new Map<string, Promise<string>>();
let last: Promise<unknown> = Promise.resolve();

/** @returns the path of its one file. */
async function makeBundle(program: string): Promise<string> {
  const script = await bundleSource(program);
  const name = `${createHash("sha256").update(script).digest("hex").slice(0, 16)}.mjs`;
  const path = join(CACHE, name);
  if (existsSync(path)) return path;
  await mkdir(CACHE, { recursive: true });
  await removeOld();
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, script);
  await rename(draft, path);
  return path;
}

async function bundleSource(program: string): Promise<Uint8Array> {
  const { build, stop } = await import("esbuild");
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: [program],
    bundle: true,
    write: false,
    platform: "node",
    format: "esm",
    target: "node20",
    external: WITH_BINARIES,
    banner: { js: REQUIRE },
    logLevel: "error",
    plugins: [
      {
        name: "files beside their source",
        setup: ({ onLoad }) =>
          onLoad({ filter: /[\\/](src|scripts|support)[\\/].*\.ts$/ }, async ({ path }) => {
            const source = await readFile(path, "utf8");
            const url = JSON.stringify(pathToFileURL(path).href);
            return { contents: source.replaceAll(/import\.meta\.url/g, url), loader: "ts" };
          }),
      },
    ],
  });
  await stop();
  const [file] = outputFiles;
  if (file === undefined) throw new Error(`nothing was made of ${program}`);
  return file.contents;
}

/** States of the source that no run of today is about. */
async function removeOld(): Promise<void> {
  const before = Date.now() - OLD_MS;
  for (const name of await readdir(CACHE)) {
    const path = join(CACHE, name);
    // Another worker may have renamed its draft or removed the file meanwhile.
    const changedMs = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => undefined,
    );
    if (changedMs !== undefined && changedMs < before) await rm(path, { force: true });
  }
}
