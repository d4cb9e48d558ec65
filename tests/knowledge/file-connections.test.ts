import { execFileSync, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ServiceError } from "../../src/core/service-error.ts";
import { type FileConnections, openFileConnections } from "../../src/knowledge/file-connections.ts";

let root: string;
let connections: FileConnections;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "connections-"));
  for (const folder of ["data/workspace/inner", "one/reports", "two/reports", "secret"]) {
    await mkdir(join(root, folder), { recursive: true });
  }
  await writeFile(join(root, "data/workspace/inner/a.txt"), "a");
  await writeFile(join(root, "secret/s.txt"), "s");
  await symlink(join(root, "secret"), join(root, "data/workspace/away"));
  await symlink(join(root, "secret/s.txt"), join(root, "data/workspace/away.txt"));
  await symlink("inner/a.txt", join(root, "data/workspace/alias.txt"));
  execFileSync("mkfifo", [join(root, "data/workspace/pipe")]);
  connections = openFileConnections({
    DATA_DIR: join(root, "data"),
    WORKSPACE_DIR: undefined,
    WATCH_DIRS: [join(root, "one/reports"), join(root, "two/reports"), join(root, "one/reports")],
  });
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function read(path: string): Promise<string> {
  const file = await connections.open("workspace", path);
  try {
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

describe("file connections", () => {
  test("are the workspace and each watched folder, by unique names", () => {
    expect(connections.list()).toEqual([
      { name: "workspace", folder: join(root, "data/workspace"), isWatched: false },
      { name: "reports", folder: join(root, "one/reports"), isWatched: true },
      { name: "reports-2", folder: join(root, "two/reports"), isWatched: true },
    ]);
    expect(connections.find("reports-3")).toBeUndefined();
  });

  test("resolve paths within them, and links that stay within", async () => {
    const file = join(root, "data/workspace/inner/a.txt");
    expect(await connections.resolve("workspace", "inner/a.txt")).toBe(file);
    expect(await connections.resolve("workspace", "alias.txt")).toBe(file);
    expect(await connections.resolve("workspace", "")).toBe(join(root, "data/workspace"));
  });

  test.each([
    "../secret/s.txt",
    "inner/../../secret",
    "/etc/passwd",
    "away/s.txt",
    "away",
    "away.txt",
    "inner/a.txt/b",
    "missing.txt",
    "inner/a.txt\0",
    "x".repeat(5_000),
  ])("reveal nothing of '%s'", async (path) => {
    await expect(connections.resolve("workspace", path)).rejects.toMatchObject({
      code: "not_found",
    });
  });

  test("open what they show, and nothing through a link that changes its target meanwhile", async () => {
    const workspace = join(root, "data/workspace");
    await mkdir(join(workspace, "turn/a"), { recursive: true });
    await writeFile(join(workspace, "turn/a/s.txt"), "fine");
    // A folder, and not a link, that changes places with another one.
    const script =
      'cd "$0" && while :; do mv turn/a turn/b; ln -s "$1" turn/a; rm turn/a; mv turn/b turn/a; done';
    const turning = spawn("sh", ["-c", script, workspace, join(root, "secret")]);
    const seen = new Set<string>();
    try {
      // Until it was seen in both states, and for many of the moments between them.
      for (let trial = 0; trial < 2_000 || seen.size < 2; trial += 1) {
        const reading = read("turn/a/s.txt");
        seen.add(await reading.catch(({ code }: ServiceError) => code));
      }
    } finally {
      turning.kill("SIGKILL");
    }
    expect(seen).toEqual(new Set(["fine", "not_found"]));
  }, 60_000);

  test.each(["missing.txt", "inner", "pipe", "away.txt"])("open no '%s'", async (path) => {
    await expect(read(path)).rejects.toMatchObject({ code: "not_found" });
    expect(await read("alias.txt")).toBe("a");
  });

  test("that do not exist are not found", async () => {
    await expect(connections.resolve("nowhere", "a.txt")).rejects.toMatchObject({
      code: "not_found",
    });
  });
});
