import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { isJournalPath, readJournalFiles } from "../../../src/operations/backup/journal-files.ts";

it("every journal that is read is known when the backup is checked, whatever its folder's name is", async () => {
  const root = await mkdtemp(join(tmpdir(), "journal-files-"));
  try {
    for (const name of ["gateway-a", ".hidden-b", "..-c", "-d", "a copy of é"]) {
      await mkdir(join(root, `${name}.journal`));
      await writeFile(join(root, `${name}.journal`, "00000001.segment"), "");
      await writeFile(join(root, `${name}.journal.aside`), "");
      await writeFile(join(root, `${name}.journal.1.20.damaged`), "");
    }
    const paths: string[] = [];
    for await (const { path } of readJournalFiles(root)) paths.push(path);
    expect(paths.length).toBe(15);
    expect(paths.filter((path) => !isJournalPath(path))).toEqual([]);
  } finally {
    await rm(root, { recursive: true });
  }
});

it.each([
  "../a.journal/00000001.segment",
  "a/b.journal/00000001.segment",
  "a.journal/../00000001.segment",
  "../a.journal.aside",
  "a\\b.journal.aside",
  "a\0b.journal.aside",
  "a.journal",
  "..",
  ".",
  "",
])("is no path of a journal: %j", (path) => {
  expect(isJournalPath(path)).toBe(false);
});
