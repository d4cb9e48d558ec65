import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { z } from "zod";

const MANIFEST = z.object({
  id: z.string().regex(/^[0-9a-f]+$/),
  watched: z.boolean(),
  files: z.array(
    z.object({
      name: z.string().regex(/^(?:[\w.-]+\/)?[\w-][\w.-]*$/),
      encodings: z.array(z.enum(["br", "gz"])),
    }),
  ),
});

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".ttf": "font/ttf",
  ".webmanifest": "application/manifest+json",
  ".woff": "font/woff",
  ".woff2": "font/woff2",
};

export interface ConsoleFile {
  readonly type: string;
  /** Identifies the content. */
  readonly hash: string;
  readonly plain: Buffer<ArrayBuffer>;
  readonly br: Buffer<ArrayBuffer> | undefined;
  readonly gz: Buffer<ArrayBuffer> | undefined;
}

/** A build of the console, in memory. */
export interface ConsoleBuild {
  readonly id: string;
  /** True while another build follows each change of the sources. */
  readonly watched: boolean;
  readonly index: ConsoleFile;
  /** By path below `/console/`. No other name is ever read from the disk. */
  readonly files: ReadonlyMap<string, ConsoleFile>;
}

/** Reads the current build of a folder (`scripts/console/write-build.ts`). Rejects when there is none that is whole. */
export async function readBuild(folder: string): Promise<ConsoleBuild> {
  const { id, watched, files } = MANIFEST.parse(
    JSON.parse(await readFile(join(folder, "build.json"), "utf8")),
  );
  const read = await Promise.all(
    files.map(async ({ name, encodings }) => {
      const path = join(folder, id, name);
      const [plain, br, gz] = await Promise.all([
        readFile(path),
        encodings.includes("br") ? readFile(`${path}.br`) : undefined,
        encodings.includes("gz") ? readFile(`${path}.gz`) : undefined,
      ]);
      const hash = createHash("sha256").update(plain).digest("base64url").slice(0, 22);
      const type = TYPES[extname(name)] ?? "application/octet-stream";
      return [name, { type, hash, plain, br, gz }] as const;
    }),
  );
  const byName = new Map(read);
  const index = byName.get("index.html");
  if (index === undefined) throw new Error("the build has no index.html");
  return { id, watched, index, files: byName };
}
