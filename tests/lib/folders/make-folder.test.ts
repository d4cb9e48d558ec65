import { mkdtempSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeFolder } from "../../../src/lib/folders/make-folder.ts";

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "make-"));
});
afterEach(() => rmSync(root, { recursive: true }));

describe("a folder that is made where it is missing", () => {
  it("comes with those above it, for this user alone, and once", async () => {
    const path = join(root, "a/b/c");
    await Promise.all([makeFolder(path), makeFolder(path)]);
    await makeFolder(path);
    expect(statSync(path).mode & 0o777).toBe(0o700);
    expect(statSync(join(root, "a")).mode & 0o777).toBe(0o700);
  });

  it("is not looked for behind a link that leads nowhere", async () => {
    symlinkSync("nowhere", join(root, "link"));
    await expect(makeFolder(join(root, "link/a"))).rejects.toMatchObject({ code: "ENOENT" });
  });
});
