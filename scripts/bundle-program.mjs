import { createHash } from "node:crypto";
import { existsSync, readdirSync, statSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const CACHE = join(ROOT, "node_modules/.cache/inference-gateway/bundles");
const OLD_MS = 86_400_000;
/** A server that runs still starts programs of its own state. */
const KEPT = 4;
/** What programs are made of, beside packages. */
const SOURCES = ["src", "scripts", "tests/support"];
const PACKAGES = ["package.json", "bun.lockb"];
/** They bring machine code or WebAssembly, which they look for beside themselves. */
const WITH_BINARIES = ["@node-rs/argon2", "@electric-sql/*", "esbuild"];
/** Packages in CommonJS call it, and a module has none. */
const REQUIRE = `import { createRequire as makeRequire } from "node:module"; const require = makeRequire(import.meta.filename);`;
/** How a program names another one that it starts. */
const STARTED = /new URL\("(\.[^"]+\.ts)", import\.meta\.url\)/g;

/**
 * Makes JavaScript of a program, of the programs that it starts, and of all that they import, unless that is there: for
 * Node, which takes two thirds of a server's start to load some 1,300 modules of TypeScript one by one. Returns the path of
 * the program's file; each program has one of its own.
 */
export async function bundleProgram(program) {
  const name = program.replaceAll(/\W+/g, "-");
  const folder = join(CACHE, `${name}-${stateOf(program)}`);
  const path = bundledPath(folder, program);
  if (existsSync(path)) return path;
  const files = await bundleSources(program, folder);
  const draft = `${folder}.${process.pid}`;
  for (const { path: place, contents } of files) {
    const draftPlace = join(draft, relative(folder, place));
    await mkdir(dirname(draftPlace), { recursive: true });
    await writeFile(draftPlace, contents);
  }
  await removeOld(name);
  try {
    await rename(draft, folder);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    // Another process was quicker.
    if (!existsSync(path)) throw error;
  }
  return path;
}

/**
 * The source of a module with the programs that it starts named by what `bundleProgram` made of them, beside the program
 * of the path `main`, whose source is `mainSource`.
 */
export function nameBundledPrograms(source, path, { main, mainSource }) {
  return source.replaceAll(STARTED, (_, started) => {
    const place = relative(dirname(mainSource), resolve(dirname(path), started));
    return `new URL(${JSON.stringify(pathToFileURL(asScript(join(dirname(main), place))).href)})`;
  });
}

function bundledPath(folder, program) {
  return asScript(join(folder, program));
}

function asScript(path) {
  return path.replace(/\.ts$/, ".mjs");
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

/** The files that it made, which are not written yet. */
async function bundleSources(program, folder) {
  const { build, stop } = await import("esbuild");
  const started = new Set();
  const options = {
    absWorkingDir: ROOT,
    outdir: folder,
    outbase: ROOT,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    // What is imported later is in files of its own, so a start reads half as much.
    splitting: true,
    write: false,
    platform: "node",
    format: "esm",
    target: "node20",
    banner: { js: REQUIRE },
    legalComments: "none",
    logLevel: "error",
    plugins: [filesBesideTheirSource(program, folder, started)],
  };
  try {
    let entryPoints;
    do {
      entryPoints = [program, ...started];
      // Our own modules alone tell what is started.
      await build({ ...options, entryPoints, packages: "external" });
    } while (started.size >= entryPoints.length);
    return (await build({ ...options, entryPoints, external: WITH_BINARIES })).outputFiles;
  } finally {
    await stop();
  }
}

/** Modules look for files where their source is, but for programs that they start: those are made too. */
function filesBesideTheirSource(program, folder, started) {
  const made = { main: bundledPath(folder, program), mainSource: join(ROOT, program) };
  return {
    name: "files beside their source",
    setup({ onLoad, onResolve }) {
      // A package in CommonJS that is imported later would lose its names: it is read where it is.
      onResolve({ filter: /^[^./]/ }, ({ kind, path }) =>
        kind === "dynamic-import" ? { path, external: true } : undefined,
      );
      onLoad({ filter: /\.(ts|[cm]?js)$/ }, async ({ path }) => {
        const source = await readFile(path, "utf8");
        if (path.includes("node_modules")) return packageModule(source, path);
        for (const [, other] of source.matchAll(STARTED)) {
          started.add(relative(ROOT, resolve(dirname(path), other)));
        }
        const url = JSON.stringify(pathToFileURL(path).href);
        const contents = nameBundledPrograms(source, path, made);
        const loader = path.endsWith(".ts") ? "ts" : "js";
        return { contents: contents.replaceAll(/import\.meta\.url/g, url), loader };
      });
    },
  };
}

/** Modules in CommonJS know their place by two names that a bundle does not have. */
function packageModule(source, path) {
  if (!/\b__(file|dir)name\b|\bimport\.meta\.url\b/.test(source)) return undefined;
  const url = JSON.stringify(pathToFileURL(path).href);
  if (/\bimport\.meta\.url\b/.test(source)) {
    return { contents: source.replaceAll(/\bimport\.meta\.url\b/g, url), loader: "js" };
  }
  const names = `var __filename = ${JSON.stringify(path)}, __dirname = ${JSON.stringify(dirname(path))};`;
  return { contents: `${names}${source}`, loader: "js" };
}

/** States of the source of earlier days, but the latest. */
async function removeOld(name) {
  const before = Date.now() - OLD_MS;
  const found = [];
  for (const entry of await readdir(CACHE)) {
    if (!entry.startsWith(`${name}-`)) continue;
    const path = join(CACHE, entry);
    // Another process may have renamed its draft or removed it meanwhile.
    const changedMs = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => undefined,
    );
    if (changedMs !== undefined) found.push({ path, changedMs });
  }
  const old = found.sort((one, other) => other.changedMs - one.changedMs).slice(KEPT);
  for (const { path, changedMs } of old) {
    if (changedMs < before) await rm(path, { recursive: true, force: true });
  }
}
