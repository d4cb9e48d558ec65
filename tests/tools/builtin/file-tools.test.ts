import { mkdtempSync, rmSync } from "node:fs";
import { mkdir, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import iconv from "iconv-lite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DOCUMENTS } from "../../support/documents/build-documents.ts";
import { testAssistant } from "../../support/stages/assistants.ts";
import { openFileToolStage } from "../../support/stages/tools/file-tool-stage.ts";

const root = mkdtempSync(join(tmpdir(), "file-tools-"));
const reports = join(root, "reports");
const onlyWorkspace = testAssistant(1, { fileConnections: ["workspace"] });
const tools = openFileToolStage({
  DATA_DIR: join(root, "data"),
  WATCH_DIRS: [reports, join(root, "missing")],
});
const FILE_TOOLS = ["find_files", "list_file_connections", "read_file", "search_workspace"];

/** Writes a file of the workspace, with its folders. */
async function write(path: string, content: string | Uint8Array): Promise<string> {
  const file = join(root, "data/workspace", path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content);
  return file;
}

async function textOf(name: string, args: Readonly<Record<string, unknown>>): Promise<string> {
  const { text, isError } = await tools.call(name, args, onlyWorkspace);
  expect(isError ?? false, text).toBe(false);
  return text;
}

async function faultOf(name: string, args: Readonly<Record<string, unknown>>): Promise<string> {
  const { text, isError } = await tools.call(name, args, onlyWorkspace);
  expect(isError).toBe(true);
  return text;
}

beforeAll(async () => {
  await mkdir(reports, { recursive: true });
  await writeFile(join(reports, "q1.csv"), "a;b\n1;2\n");
  const march = await write(
    "notes/march.md",
    "# March\nThe Warranty is two years.\nwarranty: 24\n",
  );
  await utimes(march, 1_800_000_000, 1_800_000_000);
  await write("notes/april.md", "Nothing here.\n");
  await write("notes/deep/may.txt", "WARRANTY\n");
  await write("a.txt", "one\r\ntwo\rthree\n\nfive");
  await write(".env/hidden.md", "warranty of the hidden\n");
  await write("empty.txt", "");
  await write("numbers.txt", Array.from({ length: 5_000 }, (_, n) => `line ${n + 1}\n`).join(""));
});
afterAll(() => {
  tools.close();
  rmSync(root, { recursive: true, force: true });
});

describe("The tools that read files", () => {
  it("exist for assistants that name a file connection, and see no other", async () => {
    const names = (fileConnections: readonly string[]) =>
      tools.registry
        .list(testAssistant(1, { fileConnections }))
        .map(({ name }) => name)
        .sort();
    expect(names([])).toEqual([]);
    expect(names(["elsewhere"])).toEqual([]);
    expect(names(["rep*"])).toEqual(FILE_TOOLS);
    const one = testAssistant(1, { fileConnections: ["rep*"] });
    expect((await tools.call("list_file_connections", {}, one)).text).toBe(
      "reports: its files can be read",
    );
    expect(await tools.call("read_file", { connection: "workspace", path: "a.txt" }, one)).toEqual({
      text: "Tool 'read_file': There is no file connection 'workspace'. There is 'reports'.",
      isError: true,
    });
    expect((await tools.call("read_file", { path: "q1.csv" }, one)).text).toBe(
      "q1.csv, lines 1 to 2, to the end:\na;b\n1;2",
    );
  });

  it("name every connection, and say which cannot be read", async () => {
    const { text } = await tools.call("list_file_connections", {});
    expect(text.split("\n")).toEqual([
      "workspace: its files can be read",
      "reports: its files can be read",
      "missing: not available. The folder of the connection 'missing' does not exist now.",
    ]);
    expect((await tools.call("find_files", {})).text).toMatch(
      /Name the file connection: there is 'workspace', 'reports', 'missing'/,
    );
  });

  it("take no argument of a wrong type and none that they do not know", async () => {
    for (const name of FILE_TOOLS) {
      const parameters = tools.registry.find(name)?.parameters;
      expect(parameters).toMatchObject({ type: "object", additionalProperties: false });
      const required = { path: "a.txt", text: "a" };
      const own = Object.keys((parameters?.["properties"] ?? {}) as object);
      const least = Object.fromEntries(
        Object.entries(required).filter(([key]) => own.includes(key)),
      );
      for (const [argument, wrong] of [
        ...own.flatMap((key) => [[key, null] as const, [key, {}] as const, [key, [1]] as const]),
        ["surprise", 1] as const,
        ["constructor", {}] as const,
      ]) {
        const { text, isError } = await tools.call(name, { ...least, [argument]: wrong });
        expect(isError).toBe(true);
        expect(text).toContain(`Tool '${name}': argument '${argument}' `);
      }
    }
    const tool = tools.registry.find("find_files");
    expect(JSON.stringify(tool?.parameters)).not.toContain("pattern");
    expect(await faultOf("find_files", { limit: 1_001 })).toContain(
      "argument 'limit' must be <= 1000",
    );
    expect(await faultOf("read_file", {})).toBe("Tool 'read_file': argument 'path' is missing.");
  });
});

describe("find_files", () => {
  it("lists files in order, with sizes and times, without hidden ones", async () => {
    expect(await textOf("find_files", {})).toMatch(/^6 files of 'workspace':\na\.txt {2}20 bytes/);
    expect(await textOf("find_files", { glob: "notes/**" })).toMatch(
      /^3 files of 'workspace':\nnotes\/april\.md .*\nnotes\/deep\/may\.txt .*\nnotes\/march\.md {2}48 bytes {2}2027-01-15T08:00:00Z$/,
    );
    expect(await textOf("find_files", { glob: "**/*.md", include_hidden: true })).toMatch(
      /^3 files of 'workspace':\n\.env\/hidden\.md/,
    );
    expect(await textOf("find_files", { glob: ".env/*" })).toMatch(/^1 files/);
    expect(await textOf("find_files", { glob: "notes/*/", type: "folder" })).toBe(
      "No folder of 'workspace' matches 'notes/*/'.",
    );
    expect(await textOf("find_files", { type: "folder" })).toBe(
      "2 folders of 'workspace':\nnotes/\nnotes/deep/",
    );
    expect(await textOf("find_files", { glob: "*.pdf" })).toBe(
      "No file of 'workspace' matches '*.pdf'.",
    );
  });

  it("says when there are more than the limit, and when it stopped early", async () => {
    expect(await textOf("find_files", { glob: "notes/", limit: 2 })).toMatch(
      /^The first 2 files of 'workspace' that match; there are more\. Use a narrower glob[^\n]*\nnotes\/april\.md[^\n]*\nnotes\/deep\/may\.txt[^\n]*$/,
    );
    const small = openFileToolStage(
      { DATA_DIR: join(root, "data"), WATCH_DIRS: [] },
      { TOOL_RESULT_MAX_BYTES: 1_200 },
    );
    const { text } = await small.call("find_files", {});
    small.close();
    expect(text).toMatch(/there are more/);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1_200);
  });

  it("stops at a number of levels", async () => {
    await mkdir(join(reports, "level/".repeat(70)), { recursive: true });
    const { text } = await tools.call("find_files", { connection: "reports", glob: "level/**" });
    expect(text).toMatch(/^No file .*\nFolders more than 64 levels deep were left out\.$/);
  });
});

describe("search_workspace", () => {
  it("finds lines by a literal text, whatever its case", async () => {
    expect(await textOf("search_workspace", { text: "warranty" })).toBe(
      "3 lines contain 'warranty':\nnotes/deep/may.txt:1: WARRANTY\n" +
        "notes/march.md:2: The Warranty is two years.\nnotes/march.md:3: warranty: 24",
    );
    expect(
      await textOf("search_workspace", { text: "warranty", case_sensitive: true, glob: "notes/*" }),
    ).toBe("1 lines contain 'warranty':\nnotes/march.md:3: warranty: 24");
    expect(await textOf("search_workspace", { text: "w.*y" })).toBe(
      "No line of the text files of 'workspace' contains 'w.*y'.",
    );
    expect(await textOf("search_workspace", { text: "line 1", limit: 2 })).toBe(
      "The first 2 lines that contain 'line 1'; there are more. Use a narrower glob or a longer text.\n" +
        "numbers.txt:1: line 1\nnumbers.txt:10: line 10",
    );
    // The same lines as read_file counts.
    expect(await textOf("search_workspace", { text: "five" })).toContain("a.txt:5: five");
  });

  it("leaves out what is no text, shows long lines in part, and reads other encodings", async () => {
    await write("search/image.bin", Buffer.from([0, 1, 2, ...Buffer.from("needle")]));
    await write("search/long.txt", `${"x".repeat(5_000)}needle${"y".repeat(5_000)}`);
    await write("search/western.txt", iconv.encode("Die Maße der Geräte: needle", "windows-1252"));
    await write(
      "search/wide.txt",
      Buffer.concat([Buffer.from([0xff, 0xfe]), iconv.encode("wide needle", "utf-16le")]),
    );
    const lines = (await textOf("search_workspace", { text: "needle", glob: "search/*" })).split(
      "\n",
    );
    expect(lines.slice(0, 2)).toEqual([
      "3 lines contain 'needle':",
      "1 files are no plain text, such as PDF and Word, and not searched.",
    ]);
    expect(lines[2]).toMatch(/^search\/long\.txt:1: …x{100}needley+…$/);
    expect(lines[2]?.length).toBeLessThan(340);
    expect(lines.slice(3)).toEqual([
      "search/western.txt:1: Die Maße der Geräte: needle",
      "search/wide.txt:1: wide needle",
    ]);
  });
});

describe("read_file", () => {
  it("reads lines, and says where to go on", async () => {
    expect(await textOf("read_file", { path: "a.txt" })).toBe(
      "a.txt, lines 1 to 5, to the end:\none\ntwo\nthree\n\nfive",
    );
    expect(await textOf("read_file", { path: "numbers.txt", offset: 4_999, limit: 1 })).toBe(
      "numbers.txt, lines 4999 to 4999, it goes on: continue with offset 5000:\nline 4999",
    );
    expect(await textOf("read_file", { path: "numbers.txt", offset: 5_000, limit: 1 })).toBe(
      "numbers.txt, lines 5000 to 5000, to the end:\nline 5000",
    );
    expect(await faultOf("read_file", { path: "numbers.txt", offset: 5_001 })).toBe(
      "Tool 'read_file': 'numbers.txt' has only 5000 lines.",
    );
    expect(await textOf("read_file", { path: "empty.txt" })).toBe("'empty.txt' is empty.");
    expect(await faultOf("read_file", { path: "notes" })).toMatch(/is a folder: list its files/);
    expect(await faultOf("read_file", { path: "gone.txt" })).toBe(
      "Tool 'read_file': The file connection 'workspace' has no 'gone.txt'. find_files lists its files.",
    );
  });

  it("reads documents of every format, and says what it cannot read", async () => {
    for (const [format, build] of Object.entries(DOCUMENTS)) {
      const { extension, bytes } = build("A sentence to be found");
      await write(`documents/sample.${extension}`, bytes);
      const text = await textOf("read_file", { path: `documents/sample.${extension}` });
      expect(text, format).toContain("A sentence to be found");
    }
    expect(await textOf("read_file", { path: "documents/sample.pdf" })).toMatch(
      /lines 1 to 3, to the end:\n\[Page 1\]\nA sentence to be found\n$/,
    );
    await write("documents/broken.pdf", "%PDF-1.7 and no more");
    expect(await faultOf("read_file", { path: "documents/broken.pdf" })).toMatch(/is damaged/);
    await write("documents/program", Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 0, 1]));
    expect(await faultOf("read_file", { path: "documents/program" })).toMatch(
      /neither plain text nor a document/,
    );
  });

  it("reads a huge file by pieces, in bounded size and time", async () => {
    const huge = await write("huge/sparse.txt", "first\n");
    await truncate(huge, 40 * 1024 ** 3);
    await write("huge/one-line.txt", "ü".repeat(300_000));
    expect(await faultOf("read_file", { path: "huge/sparse.txt" })).toMatch(/is not read/);
    const first = await textOf("read_file", { path: "huge/one-line.txt" });
    expect(first).toMatch(
      /^huge\/one-line\.txt, lines 1 to 3, it goes on: continue with offset 4:\n/,
    );
    expect(Buffer.byteLength(first)).toBeLessThanOrEqual(65_536);
    expect(await textOf("read_file", { path: "huge/one-line.txt", offset: 37 })).toMatch(
      /to the end/,
    );
    expect(await textOf("search_workspace", { text: "first", glob: "huge/*" })).toMatch(
      /no plain text/,
    );
  });
});
