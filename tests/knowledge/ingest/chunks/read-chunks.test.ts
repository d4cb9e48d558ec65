import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadConfig } from "../../../../src/config/load-config.ts";
import { createOriginals, type Originals } from "../../../../src/knowledge/files/originals.ts";
import {
  type ChunkReader,
  openChunkReader,
} from "../../../../src/knowledge/ingest/chunks/read-chunks.ts";

let folder: string;
let originals: Originals;
let reader: ChunkReader;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "read-chunks-"));
  originals = createOriginals(join(folder, "files"));
  reader = openChunkReader(loadConfig({ DATA_DIR: folder }).settings, { originals });
});
afterAll(async () => {
  reader.close();
  await rm(folder, { recursive: true, force: true });
});

async function readMarkdown(text: string) {
  const draft = await originals.begin();
  await draft.write(Buffer.from(text));
  const content = await draft.finish();
  await draft.moveTo(originals.pathOf(content.sha256));
  const file = { ...content, filename: "headings.md", chunking: null };
  return reader.readChunks(file, new AbortController().signal);
}

describe("a small document of headings", () => {
  test("that has more passages than a server could hold is refused", async () => {
    await expect(readMarkdown("# a\n".repeat(100_002))).rejects.toMatchObject({
      code: "invalid_file",
      message: "The document has more than 100,000 passages.",
    });
  });

  test("whose paths are far longer than its text is refused", async () => {
    const above = [1, 2, 3, 4, 5].map((level) => `${"#".repeat(level)} ${"x".repeat(200)}\n`);
    const below = Array.from({ length: 65_000 }, (_, index) => `###### ${index}\n`);
    await expect(readMarkdown([...above, ...below].join(""))).rejects.toMatchObject({
      code: "invalid_file",
      message: expect.stringContaining("more than 60,000,000 characters in its passages"),
    });
  });

  test("is read when it is of a usual size", async () => {
    const chunks = await readMarkdown("# Pumps\n## Repair\n## Costs\n");
    expect(chunks.map(({ heading, text }) => [heading, text])).toEqual([
      ["Pumps > Repair", "Repair"],
      ["Pumps > Costs", "Costs"],
    ]);
  });
});
