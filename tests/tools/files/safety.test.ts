import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openFileConnections } from "../../../src/knowledge/file-connections.ts";
import { FileFault } from "../../../src/tools/files/file-job.ts";
import { openFolder, openPlace } from "../../../src/tools/files/open-place.ts";
import { testAssistant } from "../../support/stages/assistants.ts";
import { openFileToolStage } from "../../support/stages/tools/file-tool-stage.ts";

const SECRET = "the-secret-of-the-installation";
const root = mkdtempSync(join(tmpdir(), "file-safety-"));
const workspace = join(root, "data/workspace");
const outside = join(root, "outside");
const tools = openFileToolStage({ DATA_DIR: join(root, "data"), WATCH_DIRS: [] });
const read = async (path: string) => (await tools.call("read_file", { path })).text;
const socket = createServer();

beforeAll(async () => {
  for (const folder of ["data/workspace/inside", "data/journal", "data/inbox", "outside", "files"])
    mkdirSync(join(root, folder), { recursive: true });
  for (const file of ["data/secret", "data/journal/1", "outside/file.txt", "files/upload.txt"])
    writeFileSync(join(root, file), SECRET);
  writeFileSync(join(root, "data/inbox/letter.txt"), "a letter");
  writeFileSync(join(workspace, "inside/file.txt"), "of the workspace");
  symlinkSync("../secret", join(workspace, "to-secret"));
  symlinkSync("../../outside", join(workspace, "to-outside"));
  symlinkSync("/proc/self/environ", join(workspace, "to-environment"));
  symlinkSync("/dev/zero", join(workspace, "to-zero"));
  symlinkSync("inside", join(workspace, "to-inside"));
  symlinkSync("itself", join(workspace, "itself"));
  execFileSync("mkfifo", [join(workspace, "pipe")]);
  socket.listen(join(workspace, "socket"));
  await once(socket, "listening");
});
afterAll(() => {
  socket.close();
  tools.close();
  rmSync(root, { recursive: true, force: true });
});

describe("The tools that read files", () => {
  it("never leave the folder of the connection", async () => {
    for (const path of [
      "../secret",
      "inside/../../secret",
      "/etc/passwd",
      "//etc/passwd",
      "to-secret",
      "to-outside/file.txt",
      "to-environment",
      "to-zero",
      "itself",
      String.raw`..\secret`,
      String.raw`\x2e\x2e/secret`,
      "inside/file.txt\0",
      "inside/file.txt/more",
      "x/".repeat(3_000),
    ]) {
      const { text, isError } = await tools.call("read_file", { path });
      expect(isError, path).toBe(true);
      expect(text, path).not.toContain(SECRET);
    }
    expect(await read("to-inside/file.txt")).toContain("of the workspace");
    // What is outside is not told from what is missing.
    expect((await read("to-secret")).replace("to-secret", "")).toBe(
      (await read("missing")).replace("missing", ""),
    );
    const glob = "to-outside/**";
    expect((await tools.call("find_files", { glob })).text).toMatch(/^No file/);
    expect((await tools.call("search_workspace", { text: "secret-of" })).text).toMatch(/^No line/);
  });

  it("never wait for a pipe, a socket or a device", async () => {
    expect(await read("pipe")).toMatch(/no ordinary file/);
    expect(await read("socket")).toMatch(/no ordinary file/);
    const { text } = await tools.call("find_files", {});
    expect(text).toMatch(/^1 files of 'workspace':\ninside\/file\.txt[^\n]*$/);
  });

  it("read nothing outside through a link that changes its target meanwhile", async () => {
    const script = `cd ${workspace} && while :; do ln -sfn ${outside} swapped; ln -sfn inside swapped; done`;
    const swapping = spawn("sh", ["-c", script], { stdio: "ignore" });
    // A folder, and not a link, that changes places with another one.
    const places = `cd ${workspace} && mkdir -p turn/a && echo fine >turn/a/file.txt && while :; do mv turn/a turn/b; ln -s ${outside} turn/a; rm turn/a; mv turn/b turn/a; done`;
    const turning = spawn("sh", ["-c", places], { stdio: "ignore" });
    const seen = new Set<string>();
    try {
      for (let trial = 0; trial < 400; trial += 1) {
        for (const path of ["swapped/file.txt", "turn/a/file.txt"]) seen.add(await read(path));
        if (trial % 20 > 0) continue;
        for (const glob of ["turn/**", "swapped/**"]) {
          const { text } = await tools.call("search_workspace", { text: SECRET.slice(2), glob });
          seen.add(text);
        }
      }
    } finally {
      swapping.kill("SIGKILL");
      turning.kill("SIGKILL");
    }
    expect([...seen].filter((text) => text.includes(SECRET))).toEqual([]);
    expect([...seen].some((text) => text.includes("of the workspace"))).toBe(true);
    expect([...seen].some((text) => text.includes("has no 'swapped/file.txt'"))).toBe(true);
  }, 60_000);

  it("check what is open, and not only its path", () => {
    mkdirSync(join(outside, "deeper"));
    const { hidden } = openFileConnections({
      DATA_DIR: join(root, "data"),
      WORKSPACE_DIR: undefined,
      WATCH_DIRS: [],
    });
    const place = openPlace({ connection: "workspace", folder: workspace, hidden });
    // As when a level of the path becomes a link after it was seen as a folder.
    for (const path of ["to-outside/deeper", "to-outside", "to-inside"])
      expect(() => openFolder(place, path), path).toThrow(FileFault);
    openFolder(place, "inside").close();
  });

  it("read nothing of the service or the system, whatever a connection holds", async () => {
    const folders = { WATCH_DIRS: [root], FILES_DIR: join(root, "files") };
    const data = { DATA_DIR: join(root, "data"), ...folders };
    const wide = openFileToolStage({ ...data, WORKSPACE_DIR: "/" });
    const all = testAssistant(1, { fileConnections: ["*"] });
    const connection = openFileConnections({ ...data, WORKSPACE_DIR: "/" }).list()[1]?.name;
    const call = async (name: string, args: Readonly<Record<string, unknown>>) =>
      (await wide.call(name, { connection, ...args }, all)).text;
    for (const path of [
      "data/secret",
      "data/journal/1",
      "files/upload.txt",
      "data/inbox/letter.txt",
    ])
      expect(await call("read_file", { path }), path).toContain(`has no '${path}'`);
    expect(await call("read_file", { path: "data/workspace/inside/file.txt" })).toContain(
      "of the workspace",
    );
    const found = await call("find_files", {});
    expect(found).toContain("outside/file.txt");
    expect(found).not.toMatch(/data\/|files\/upload/);
    expect(await call("search_workspace", { text: "the-secret" })).toMatch(
      /^1 lines contain 'the-secret':\n[^\n]*outside\/file\.txt:1: [^\n]*$/m,
    );
    for (const path of ["proc/self/environ", "dev/null", "sys/kernel/mm/ksm/run"]) {
      const { text } = await wide.call("read_file", { connection: "workspace", path }, all);
      expect(text, path).toMatch(/has no '/);
    }
    wide.close();
    // A folder in DATA_DIR that an administrator has made a connection is one.
    const inbox = openFileToolStage({ ...data, WATCH_DIRS: [join(root, "data/inbox")] });
    const { text } = await inbox.call("read_file", { connection: "inbox", path: "letter.txt" });
    inbox.close();
    expect(text).toContain("a letter");
  });

  it("also resolve no path of the service for stores and databases", async () => {
    const connections = openFileConnections({
      DATA_DIR: join(root, "data"),
      FILES_DIR: join(root, "files"),
      WORKSPACE_DIR: root,
      WATCH_DIRS: [],
    });
    for (const path of ["data/secret", "files/upload.txt"]) {
      await expect(connections.resolve("workspace", path)).rejects.toMatchObject({
        code: "not_found",
      });
    }
    expect(await connections.resolve("workspace", "outside/file.txt")).toBe(
      join(outside, "file.txt"),
    );
  });

  it("show names that could break a line or are not UTF-8, and read files by what they show", async () => {
    const folder = join(workspace, "names");
    mkdirSync(folder);
    const names = ["a\nb.txt", "\x1b[31mred.txt", "back\\slash.txt", "gpj\u202e.txt"];
    for (const name of names)
      writeFileSync(join(folder, name), `content of ${names.indexOf(name)}`);
    writeFileSync(
      Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0x7a, 0xff])]),
      "of bytes",
    );
    const { text } = await tools.call("find_files", { glob: "names/*" });
    const shown = text
      .split("\n")
      .slice(1)
      .map((line) => line.split("  ")[0] ?? "");
    expect(shown).toEqual([
      String.raw`names/\x1b[31mred.txt`,
      String.raw`names/a\x0ab.txt`,
      String.raw`names/back\\slash.txt`,
      String.raw`names/gpj\xe2\x80\xae.txt`,
      String.raw`names/z\xff`,
    ]);
    for (const path of shown)
      expect(await read(path)).toMatch(/to the end:\n(content of \d|of bytes)$/);
    rmSync(folder, { recursive: true });
  });

  it("end within a second when the call is aborted, and answer the next one", async () => {
    const endless = join(workspace, "endless.txt");
    writeFileSync(endless, "begin\n".repeat(20_000));
    truncateSync(endless, 200 * 1024 ** 3);
    const client = new AbortController();
    const call = tools.call(
      "read_file",
      { path: "endless.txt", offset: 1_000_000_000 },
      undefined,
      client.signal,
    );
    const timer = setTimeout(() => client.abort(new Error("the client left")), 300);
    await expect(call).rejects.toThrow("the client left");
    clearTimeout(timer);
    expect(await read("inside/file.txt")).toContain("of the workspace");

    const hasty = openFileToolStage({ DATA_DIR: join(root, "data"), WATCH_DIRS: [] }, {}, 0);
    const late = await hasty.call("read_file", { path: "endless.txt", offset: 1_000_000_000 });
    const searched = await hasty.call("search_workspace", { text: "beginning" });
    const found = await hasty.call("find_files", {});
    hasty.close();
    expect(late.text).toMatch(/Reading 'endless\.txt' up to line \d+ took too long\./);
    for (const { text } of [searched, found])
      expect(text).toMatch(/\nStopped early: it took too long\. Use a narrower glob\.$/);
  });

  it("read a file that grows while it is read, up to a limit", async () => {
    const growing = join(workspace, "growing.txt");
    writeFileSync(growing, "line\n".repeat(50_000));
    const writer = spawn("sh", ["-c", `while :; do seq 1 200 >> ${growing}; sleep 0.01; done`], {
      stdio: "ignore",
    });
    const { text } = await tools.call("search_workspace", { text: "no such", glob: "growing.txt" });
    const part = await tools.call("read_file", { path: "growing.txt", offset: 40_000, limit: 3 });
    writer.kill("SIGKILL");
    rmSync(growing);
    expect(text).toMatch(/^No line/);
    expect(part.text).toMatch(/lines 40000 to 40002, it goes on/);
  });
});
