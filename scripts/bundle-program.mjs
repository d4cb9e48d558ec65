import { createHash } from "node:crypto";
import { existsSync, readdirSync, statSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const CACHE = join(ROOT, "node_modules/.cache/inference-gateway/bundles");
const OLD_MS = 86_400_000;
/** What programs are made of, beside packages. */
const SOURCES = ["src", "scripts", "tests/support"];
const PACKAGES = ["package.json", "bun.lockb"];
/** They bring machine code or WebAssembly, which they look for beside themselves. */
const WITH_BINARIES = ["@node-rs/argon2", "@electric-sql/*", "esbuild"];
/** Packages in CommonJS call it, and a module has none. */
const REQUIRE = `import { createRequire as makeRequire } from "node:module"; const require = makeRequire(import.meta.filename);`;

/**
 * Makes one file of JavaScript of a program and all that it imports, unless that is there: for Node, which takes two
 * thirds of a server's start to load some 1,300 modules of TypeScript one by one. Returns the path of the file.
 */
export async function bundleProgram(program) {
  const path = join(CACHE, `${program.replaceAll(/\W+/g, "-")}-${stateOf(program)}.mjs`);
  if (existsSync(path)) return path;
  const script = await bundleSource(program);
  await mkdir(CACHE, { recursive: true });
  await removeOld();
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, script);
  await rename(draft, path);
  return path;
}

/** A text that changes with each source: reading when they changed takes a fiftieth of making a file of them. */
function stateOf(program) {
  const hash = createHash("sha256").update(program);
  for (const folder of SOURCES) {
    const names = readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(ts|mjs|json|lua)$/.test(entry.name))
      .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
    for (const name of names.sort()) addState(hash, name);
  }
  for (const name of PACKAGES) addState(hash, join(ROOT, name));
  return hash.digest("hex").slice(0, 16);
}

function addState(hash, path) {
  const { mtimeMs, size } = statSync(path, { throwIfNoEntry: false }) ?? {};
  hash.update(`${path} ${mtimeMs} ${size}\n`);
}

async function bundleSource(program) {
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
    legalComments: "none",
    logLevel: "error",
    plugins: [
      {
        name: "files beside their source",
        setup: ({ onLoad }) =>
          onLoad({ filter: /[\\/](src|scripts|support)[\\/].*\.(ts|mjs)$/ }, async ({ path }) => {
            const source = await readFile(path, "utf8");
            const url = JSON.stringify(pathToFileURL(path).href);
            const loader = path.endsWith(".ts") ? "ts" : "js";
            return { contents: source.replaceAll(/import\.meta\.url/g, url), loader };
          }),
      },
    ],
  });
  await stop();
  const [file] = outputFiles;
  if (file === undefined) throw new Error(`nothing was made of ${program}`);
  return file.contents;
}

/** States of the source of earlier days. A program that runs has read its own. */
async function removeOld() {
  const before = Date.now() - OLD_MS;
  for (const name of await readdir(CACHE)) {
    const path = join(CACHE, name);
    // Another process may have renamed its draft or removed the file meanwhile.
    const changedMs = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => undefined,
    );
    if (changedMs !== undefined && changedMs < before) await rm(path, { force: true });
  }
}
