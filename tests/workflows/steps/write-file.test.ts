import { mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Database } from "../../../src/db/database.ts";
import { workflowMarks } from "../../../src/db/tables/workflows.ts";
import { openFileConnections } from "../../../src/knowledge/file-connections.ts";
import type { JsonObject } from "../../../src/lib/json/json.ts";
import { beginWorkspaceFile } from "../../../src/workflows/steps/shared/workspace-file.ts";
import type { StepServices } from "../../../src/workflows/steps/step-services.ts";
import { writeFileStep } from "../../../src/workflows/steps/write-file.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";
import { plainRowProcess } from "../../support/workflows/plain-row-process.ts";
import { runStep, type StepCase } from "../../support/workflows/step-stage.ts";

let database: Database;
let data: string;
let workspace: string;

beforeAll(async () => {
  database = await openTestDatabase();
});
beforeEach(async () => {
  data = realpathSync(mkdtempSync(join(tmpdir(), "write-file-")));
  workspace = join(data, "workspace");
});
afterEach(() => rmSync(data, { recursive: true, force: true }));
afterAll(() => database?.close());

const folders = () => ({ WORKSPACE_DIR: workspace, WATCH_DIRS: [], DATA_DIR: data });
function write(settings: JsonObject, more: Partial<StepCase> = {}) {
  const fileConnections = openFileConnections(folders());
  const services = { database, rowProcess: plainRowProcess, fileConnections };
  const kind = writeFileStep(services as unknown as StepServices);
  return runStep(kind, { settings, run: { id: "run_7", chain: ["wf_first"] }, ...more });
}
const text = (path: string) => readFile(join(workspace, path), "utf8");
const ROWS = [
  { id: 1, name: "Bolt" },
  { id: 2, size: { x: 1 } },
];

describe("write_file", () => {
  test("writes CSV with every field as a column, and passes the rows on", async () => {
    const { outputs } = await write({ path: "out/{{ run.id }}.csv" }, { rows: ROWS });
    expect(outputs.main).toEqual(ROWS);
    expect(await text("out/run_7.csv")).toBe('id,name,size\r\n1,Bolt,\r\n2,,"{""x"":1}"\r\n');
    expect(await readdir(join(workspace, "out"))).toEqual(["run_7.csv"]);
  });

  test("writes CSV that no spreadsheet runs as a formula, in its columns as in its cells", async () => {
    const rows = [{ "=a": "=1+1", b: -1, c: "\t@x" }];
    await write({ path: "f.csv" }, { rows });
    expect(await text("f.csv")).toBe(
      "'=a,b,c\r\n'=1+1,-1,\"'\t@x\"\r\n".replace('"\'\t@x"', "'\t@x"),
    );
  });

  test("writes decimals and integers beyond 2^53, which are texts, as the numbers they are", async () => {
    const rows = [{ amount: "-12.50", big: "-9007199254740993", note: "-1+cmd|' /c calc'!A0" }];
    await write({ path: "f.csv" }, { rows });
    expect(await text("f.csv")).toBe(
      "amount,big,note\r\n-12.50,-9007199254740993,'-1+cmd|' /c calc'!A0\r\n",
    );
  });

  test("writes the named columns only, in their order", async () => {
    await write({ path: "f.csv", columns: ["name", "missing", "id"] }, { rows: ROWS });
    expect(await text("f.csv")).toBe("name,missing,id\r\nBolt,,1\r\n,,2\r\n");
  });

  test("writes NDJSON and JSON that read back as the rows, over several chunks", async () => {
    const rows = Array.from({ length: 2_500 }, (_, id) => ({ id, text: `line\n${id}` }));
    await write({ path: "a.ndjson", format: "ndjson" }, { rows });
    const lines = (await text("a.ndjson")).trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toEqual(rows);
    await write({ path: "a.json", format: "json" }, { inputs: { one: rows, two: ROWS } });
    expect(JSON.parse(await text("a.json"))).toEqual([...rows, ...ROWS]);
    await write({ path: "none.json", format: "json" }, { rows: [] });
    expect(JSON.parse(await text("none.json"))).toEqual([]);
  });

  test("replaces a file, so that a repeated try leaves one", async () => {
    await write({ path: "f.csv" }, { rows: ROWS });
    await write({ path: "f.csv" }, { rows: [{ id: 9 }] });
    expect(await text("f.csv")).toBe("id\r\n9\r\n");
  });

  test("marks the file with the run's chain before it appears", async () => {
    await database.db.delete(workflowMarks);
    await write({ path: "f.csv" }, { rows: ROWS });
    expect(await database.db.select().from(workflowMarks)).toMatchObject([
      {
        ...{ kind: "file", subject: join(workspace, "f.csv"), runId: "run_7" },
        chain: ["wf_first", "wf_stage"],
      },
    ]);
  });

  test("only tells in a test of the step", async () => {
    const done = await write({ path: "f.csv" }, { rows: ROWS, isTest: true });
    expect(done.told).toEqual(["would write 2 rows to f.csv"]);
    await expect(readdir(workspace)).rejects.toThrow("ENOENT");
  });

  test("leaves nothing behind when the run is stopped while it writes", async () => {
    const stop = new AbortController();
    stop.abort(new Error("stopped"));
    await expect(write({ path: "f.csv" }, { rows: ROWS, signal: stop.signal })).rejects.toThrow(
      "stopped",
    );
    expect(await readdir(workspace)).toEqual([]);
  });

  test.each([
    "../out.csv",
    "/etc/out.csv",
    "a/../../out.csv",
    ".hidden",
    "a//b.csv",
    "a/",
    "a\\b",
    "x\0.csv",
  ])("refuses the path %j", async (path) => {
    await expect(
      write(
        { path: "{{ trigger.path }}" },
        {
          rows: ROWS,
          trigger: { kind: "manual", path },
        },
      ),
    ).rejects.toMatchObject({ code: "path_refused" });
    expect(await readdir(data)).toEqual(expect.not.arrayContaining(["out.csv"]));
  });

  test("does not follow a link, whether it is a level of the path or the file", async () => {
    const outside = join(data, "outside");
    await mkdir(outside);
    await mkdir(workspace);
    await symlink(outside, join(workspace, "link"));
    await expect(write({ path: "link/f.csv" }, { rows: ROWS })).rejects.toMatchObject({
      code: "path_refused",
    });
    await writeFile(join(outside, "kept.csv"), "kept");
    await symlink(join(outside, "kept.csv"), join(workspace, "f.csv"));
    await write({ path: "f.csv" }, { rows: ROWS });
    expect(await readFile(join(outside, "kept.csv"), "utf8")).toBe("kept");
    expect(await text("f.csv")).toContain("Bolt");
  });

  test("does not follow a link that takes the place of a folder while the file is begun", async () => {
    const outside = join(data, "outside");
    await mkdir(outside);
    await mkdir(join(workspace, "out"), { recursive: true });
    const connections = openFileConnections(folders());
    const swapping = {
      find: connections.find,
      get hidden() {
        renameSync(join(workspace, "out"), join(workspace, "moved"));
        symlinkSync(outside, join(workspace, "out"));
        return connections.hidden;
      },
    };
    const beginning = beginWorkspaceFile(swapping, "out/f.csv");
    await expect(beginning).rejects.toMatchObject({ code: "path_refused" });
    expect(await readdir(outside)).toEqual([]);
  });

  test("writes into the folder in which the file was begun, whatever took its place since", async () => {
    const outside = join(data, "outside");
    await mkdir(outside);
    const draft = await beginWorkspaceFile(openFileConnections(folders()), "out/f.csv");
    try {
      renameSync(join(workspace, "out"), join(workspace, "moved"));
      symlinkSync(outside, join(workspace, "out"));
      await draft.write("text");
      await draft.finish();
      await draft.place();
    } finally {
      await draft.discard();
    }
    expect(await readdir(outside)).toEqual([]);
    expect(await text("moved/f.csv")).toBe("text");
  });

  test("says so when the folder cannot be written, as a failure that may pass", async () => {
    await writeFile(join(data, "workspace"), "a file");
    await expect(write({ path: "f.csv" }, { rows: ROWS })).rejects.toMatchObject({
      code: "file_not_written",
      isRetryable: true,
    });
  });
});
