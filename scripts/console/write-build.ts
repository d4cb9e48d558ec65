import { createHash } from "node:crypto";
import { mkdir, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { BUILDS, type BuiltFile, writeManifest } from "./console-files.mjs";

/** The highest qualities take ten times the processor time for a twentieth of the size. */
const BROTLI_QUALITY = 9;
const COMPRESSED = /\.(js|css|html|json|svg|webmanifest|txt|md)$/;
/** A compressed file must be this much smaller to be kept. */
const WORTH_IT = 0.95;
/** The builds that stay, the newest included: a server may be reading the one before. */
const KEPT = 2;

export interface NewBuild {
  readonly stamp: string;
  readonly watched: boolean;
  /** Everything below `/console/`, by name. In `index.html` the id is filled in. */
  readonly files: ReadonlyMap<string, string | Uint8Array>;
}

/** Writes a build with its compressed forms into a folder of its own, and then makes it the current one. Returns its id. */
export async function writeBuild({ stamp, watched, files }: NewBuild): Promise<string> {
  const id = idOf(files);
  const draft = join(BUILDS, `.${id}.${process.pid}`);
  const written = await Promise.all(
    [...files].map(([name, content]) => {
      const bytes = Buffer.from(name === "index.html" ? withId(String(content), id) : content);
      return writeFiles(draft, name, bytes);
    }),
  );
  await rename(draft, join(BUILDS, id)).catch(async (thrown: unknown) => {
    // The same content was built before, or is by another process.
    await rm(draft, { recursive: true, force: true });
    await stat(join(BUILDS, id, "index.html")).catch(() => {
      throw thrown;
    });
  });
  writeManifest({ id, stamp, watched, files: written });
  await removeOld(id);
  return id;
}

function idOf(files: NewBuild["files"]): string {
  const hash = createHash("sha256");
  for (const [name, content] of [...files].sort(([one], [other]) => (one < other ? -1 : 1))) {
    hash.update(`${name}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex").slice(0, 16);
}

function withId(html: string, id: string): string {
  return html.replace(/<head>/, `<head>\n    <meta name="build" content="${id}" />`);
}

async function writeFiles(folder: string, name: string, bytes: Buffer): Promise<BuiltFile> {
  const path = join(folder, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, bytes);
  if (!COMPRESSED.test(name)) return { name, encodings: [] };
  const params = { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY };
  const forms = [
    { encoding: "br", smaller: await promisify(brotliCompress)(bytes, { params }) },
    { encoding: "gz", smaller: await promisify(gzip)(bytes, { level: 9 }) },
  ] as const;
  const kept = forms.filter(({ smaller }) => smaller.length < bytes.length * WORTH_IT);
  await Promise.all(kept.map(({ encoding, smaller }) => writeFile(`${path}.${encoding}`, smaller)));
  return { name, encodings: kept.map(({ encoding }) => encoding) };
}

/** Removes older builds, and drafts of builds that were cut off. */
async function removeOld(current: string): Promise<void> {
  const names = (await readdir(BUILDS)).filter((name) => name !== "build.json" && name !== current);
  const dated = await Promise.all(
    names.map(async (name) => {
      const found = await stat(join(BUILDS, name)).catch(() => undefined);
      return { name, at: found?.mtimeMs ?? 0 };
    }),
  );
  const isDraft = (name: string) => name.startsWith(".") || name.startsWith("build.json.");
  const old = dated.sort((one, other) => other.at - one.at);
  const builds = old.filter(({ name }) => !isDraft(name)).slice(KEPT - 1);
  const drafts = old.filter(({ name, at }) => isDraft(name) && at < Date.now() - DRAFT_MAX_MS);
  for (const { name } of [...builds, ...drafts]) {
    await rm(join(BUILDS, name), { recursive: true, force: true });
  }
}

/** No build takes as long. */
const DRAFT_MAX_MS = 600_000;
