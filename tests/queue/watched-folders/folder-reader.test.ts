import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  createFolderReader,
  type FolderReader,
} from "../../../src/queue/watched-folders/folder-reader.ts";

describe("the reader of a folder", () => {
  let folder: string;
  let reader: FolderReader;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "folder-reader-"));
    reader = createFolderReader(folder, 30_000);
  });
  afterAll(async () => {
    reader.close();
    await rm(folder, { recursive: true, force: true });
  });

  it("finds files whatever separators are in their names", async () => {
    const names = ["a\u2028b.txt", "c\u2029d.txt", "e\nf\rg.txt"];
    for (const name of names) await writeFile(join(folder, name), "content");
    const { found, gone } = await reader.find([...names, "h\u2028i.txt"]);
    expect(found.map(({ path }) => path)).toEqual(names);
    expect(gone).toEqual(["h\u2028i.txt"]);
    for await (const { files, isLast } of reader.walk([])) {
      expect(files?.map(({ path }) => path).sort()).toEqual(names);
      expect(isLast).toBe(true);
    }
  });
});
