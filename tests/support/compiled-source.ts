import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import {
  copyFile,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const CACHE = join(ROOT, "node_modules/.cache/inference-gateway");
const KEPT = join(CACHE, "compiled-files");
const OLD_MS = 86_400_000;
/** What the programs that tests start consist of. */
const FOLDERS = ["src", "scripts"];
/** What they look for beside themselves. */
const NEIGHBOURS = ["drizzle", "node_modules"];

/**
 * What runs a program of ours, on the runtime that runs the tests: command and arguments. Node is given JavaScript, because
 * its loader for TypeScript takes half the time that a server needs to start, and tests start hundreds.
 *
 * @param program from the root of the project, such as `src/main.ts`.
 */
export async function commandOf(program: string): Promise<readonly string[]> {
  if (process.versions["bun"] !== undefined) return [process.execPath, "--no-env-file", program];
  compiled ??= compile();
  const path = join(await compiled, asJavaScript(program));
  // The loader keeps quiet about imports of JSON, too.
  return [process.execPath, "--disable-warning=ExperimentalWarning", path];
}

let compiled: Promise<string> | undefined;

const asJavaScript = (path: string) => path.replace(/\.ts$/, ".js");

/** Made once for each state of the source. */
async function compile(): Promise<string> {
  const listed = await Promise.all(
    FOLDERS.map((folder) => readdir(join(ROOT, folder), { recursive: true, withFileTypes: true })),
  );
  const files = listed
    .flat()
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(ROOT.length))
    .sort();
  const sources = await Promise.all(files.map((file) => readFile(join(ROOT, file))));
  const digest = createHash("sha256");
  for (const [index, file] of files.entries()) digest.update(file).update(sources[index] ?? "");
  const folder = join(CACHE, `compiled-${digest.digest("hex").slice(0, 16)}`);
  if (existsSync(folder)) return folder;
  await mkdir(KEPT, { recursive: true });
  await removeOld();
  const draft = await mkdtemp(join(CACHE, "unfinished-"));
  for (const [index, file] of files.entries())
    await writeCompiled(join(draft, file), sources[index] ?? Buffer.of());
  for (const name of NEIGHBOURS) await symlink(join(ROOT, name), join(draft, name));
  await copyFile(join(ROOT, "package.json"), join(draft, "package.json"));
  // Another test file may have been first.
  await rename(draft, folder).catch(() => rm(draft, { recursive: true, force: true }));
  return folder;
}

/** States of the source that no run of today is about. */
async function removeOld(): Promise<void> {
  const before = Date.now() - OLD_MS;
  for (const name of await readdir(CACHE)) {
    const path = join(CACHE, name);
    if (!name.startsWith("compiled-") || path === KEPT) continue;
    const { mtimeMs } = await stat(path);
    if (mtimeMs < before) await rm(path, { recursive: true, force: true });
  }
}

async function writeCompiled(path: string, source: Buffer): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  if (!path.endsWith(".ts")) return writeFile(path, source);
  // Most files are as they were the last time.
  const kept = join(KEPT, `${createHash("sha256").update(source).digest("hex").slice(0, 32)}.js`);
  if (!existsSync(kept)) {
    const draft = `${kept}.${process.pid}`;
    await writeFile(draft, await translate(source.toString()));
    // Not renamed: whoever links to a file in the moment in which another one takes its place is told that there is none.
    await link(draft, kept).catch(ignoreExisting);
    await rm(draft);
  }
  return link(kept, asJavaScript(path));
}

/** Another test file was first. */
function ignoreExisting(thrown: NodeJS.ErrnoException): void {
  if (thrown.code !== "EEXIST") throw thrown;
}

async function translate(source: string): Promise<string> {
  const { default: typescript } = await import("typescript");
  const { outputText } = typescript.transpileModule(source, {
    compilerOptions: {
      target: typescript.ScriptTarget.ES2023,
      module: typescript.ModuleKind.ESNext,
      verbatimModuleSyntax: true,
      rewriteRelativeImportExtensions: true,
    },
  });
  return outputText;
}
