import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openRealFile } from "../../../src/lib/folders/open-real-file.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "open-real-file-")));

beforeAll(() => {
  mkdirSync(join(folder, "größe"));
  writeFileSync(join(folder, "größe/file.txt"), "the text");
  symlinkSync("größe", join(folder, "link"));
  symlinkSync("file.txt", join(folder, "größe/link.txt"));
  execFileSync("mkfifo", [join(folder, "größe/pipe")]);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("A file that is opened by its real path", () => {
  it("is read from what is open, also after it was replaced", async () => {
    const file = await openRealFile(join(folder, "größe/file.txt"));
    writeFileSync(join(folder, "other.txt"), "of another");
    execFileSync("mv", [join(folder, "other.txt"), join(folder, "größe/file.txt")]);
    const pieces: Buffer[] = [];
    for await (const bytes of file?.createReadStream({ autoClose: false }) ?? []) {
      pieces.push(bytes as Buffer);
    }
    expect(Buffer.concat(pieces).toString()).toBe("the text");
    await file?.close();
  });

  it("is none where a level of the path is a link by now, or the file is", async () => {
    expect(await openRealFile(join(folder, "link/file.txt"))).toBeUndefined();
    const link = openRealFile(join(folder, "größe/link.txt"));
    await expect(link).rejects.toMatchObject({ code: "ELOOP" });
  });

  it("is none where a pipe or a folder has taken its place", async () => {
    expect(await openRealFile(join(folder, "größe/pipe"))).toBeUndefined();
    expect(await openRealFile(join(folder, "größe"))).toBeUndefined();
  });
});
