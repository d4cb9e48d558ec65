import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir, totalmem } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { memoryLimitBytes } from "../../../src/lib/process/memory-limit.ts";

const MB = 1024 * 1024;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "cgroups-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Lays a tree of control groups. */
async function layGroups(name: string, own: string, files: Readonly<Record<string, string>>) {
  const root = join(folder, name);
  for (const [path, text] of Object.entries({ own, ...files })) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return { root, own: join(root, "own") };
}

describe("The memory that the process may use", () => {
  it("is the least of what its control group and those above allow", async () => {
    const files = await layGroups("second", "0::/service/gateway\n", {
      "service/memory.max": `${64 * MB}\n`,
      "service/gateway/memory.max": "max\n",
    });
    expect(memoryLimitBytes(files)).toBe(64 * MB);
  });

  it("is that of its group where the container shows this as the root", async () => {
    const files = await layGroups("container", "0::/\n", { "memory.max": `${32 * MB}\n` });
    expect(memoryLimitBytes(files)).toBe(32 * MB);
  });

  it("is read from version 1 as well", async () => {
    const files = await layGroups("first", "5:cpu,cpuacct:/a\n4:memory:/a\n", {
      "memory/memory.limit_in_bytes": "9223372036854771712\n",
      "memory/a/memory.limit_in_bytes": `${16 * MB}\n`,
    });
    expect(memoryLimitBytes(files)).toBe(16 * MB);
  });

  it("is the machine's where no group limits it, or there are none", async () => {
    const files = await layGroups("free", "0::/a\n", { "a/memory.max": "max\n" });
    expect(memoryLimitBytes(files)).toBe(totalmem());
    expect(memoryLimitBytes({ root: "/nowhere", own: "/nowhere/own" })).toBe(totalmem());
  });
});
