import {
  createWriteStream,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { openFileConnections } from "../../../src/knowledge/file-connections.ts";
import { openRowProcess } from "../../../src/workflows/row-process/open-row-process.ts";
import type { Row, StepInput } from "../../../src/workflows/rows/row.ts";
import { aggregateStep } from "../../../src/workflows/steps/aggregate.ts";
import { filterStep } from "../../../src/workflows/steps/filter.ts";
import { mapStep } from "../../../src/workflows/steps/map.ts";
import { readFileStep } from "../../../src/workflows/steps/read-file.ts";
import { sqlStep } from "../../../src/workflows/steps/sql.ts";
import { validateStep } from "../../../src/workflows/steps/validate.ts";
import { bomb } from "../../support/documents/build-bombs.ts";
import { inputOf, runStep } from "../../support/workflows/step-stage.ts";

const rowProcess = openRowProcess({ processes: 1 });
const services = { rowProcess };
const data = mkdtempSync(join(tmpdir(), "hostile-"));
const workspace = join(data, "workspace");
mkdirSync(workspace);
const fileConnections = openFileConnections({
  WORKSPACE_DIR: workspace,
  WATCH_DIRS: [],
  DATA_DIR: data,
});
const readFile = readFileStep({ rowProcess, fileConnections });
afterAll(() => {
  rowProcess.close();
  rmSync(data, { recursive: true });
});

const map = (expression: string, row: Row = {}, timeMs = 60_000) =>
  runStep(mapStep(services), { settings: { set: { x: expression } }, rows: [row], timeMs });
const sql = (select: string, timeMs = 60_000) =>
  runStep(sqlStep(services), { settings: { select }, rows: [{ n: 1 }], timeMs });

/** The gateway's own process: whatever a step does, the next one works. */
const stillWorks = async () => expect((await map("1 + 1")).outputs.main).toEqual([{ x: 2 }]);

describe("expressions", () => {
  test("that are nested too deeply are refused", async () => {
    await expect(map(`${"(".repeat(5_000)}1${")".repeat(5_000)}`)).rejects.toMatchObject({
      code: "invalid_expression",
    });
  });

  test("that do not end are stopped", async () => {
    const list = Array.from({ length: 300 }, (_, n) => n);
    const loops = "row.l.all(a, row.l.all(b, row.l.all(c, row.l.all(d, a + b + c + d >= 0))))";
    await expect(map(loops, { l: list }, 2_000)).rejects.toMatchObject({
      code: "row_process_time",
    });
    await stillWorks();
  });

  test("that take all memory are stopped", async () => {
    const doubled = Array.from({ length: 26 }, (_, n) => `cel.bind(l${n + 1}, l${n} + l${n}, `);
    const grows = `cel.bind(l0, [1, 2, 3, 4, 5, 6, 7, 8], ${doubled.join("")}size(l26)${")".repeat(27)}`;
    const step = runStep(mapStep(services), { settings: { set: { x: grows } }, rows: [{}] });
    await expect(step).rejects.toMatchObject({
      code: expect.stringMatching(/row_process_memory|expression_failed/),
    });
    await stillWorks();
  });

  test("with patterns that would backtrack take linear time", async () => {
    const { outputs } = await map("row.t.matches('^(a+)+$')", { t: `${"a".repeat(50_000)}!` });
    expect(outputs.main[0]?.["x"]).toBe(false);
    const schema = { properties: { t: { pattern: "^(\\w+\\s?)*$" } } };
    await expect(
      runStep(validateStep(services), {
        settings: { schema },
        rows: [{ t: `${"a ".repeat(20_000)}!` }],
      }),
    ).rejects.toMatchObject({ code: "invalid_row" });
  });

  test("with results that are too large are the fault of a row", async () => {
    const text = "x".repeat(600_000);
    await expect(map("row.t + row.t", { t: text })).rejects.toMatchObject({
      code: "row_too_large",
      row: 1,
    });
  });
});

describe("SQL", () => {
  test.each([
    "ATTACH 'other.db' AS o",
    "SELECT 1; DELETE FROM rows",
    "SELECT load_extension('x')",
    "SELECT writefile('x', 'y')",
    "PRAGMA journal_mode",
    "SELECT * FROM pragma_database_list",
    "SELECT 1) ; ATTACH 'x' AS y; SELECT (1",
    "SELECT 1) UNION SELECT * FROM (SELECT 2",
    "SELECT * FROM nothing",
    "SELEC 1",
  ])("%s is refused", async (select) => {
    await expect(sql(select)).rejects.toMatchObject({ code: "invalid_sql" });
  });

  test("that does not end is stopped", async () => {
    const endless =
      "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT max(n) AS n FROM r";
    await expect(sql(endless, 2_000)).rejects.toMatchObject({ code: "row_process_time" });
    await stillWorks();
  });

  test("that takes all memory is stopped", async () => {
    const grows =
      "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 900) SELECT length(group_concat(hex(zeroblob(1000000)))) FROM r";
    await expect(sql(grows)).rejects.toMatchObject({
      code: expect.stringMatching(/row_process_memory|invalid_sql/),
    });
    await stillWorks();
  });
});

describe("files", () => {
  const read = (path: string, more: Row = {}) => runStep(readFile, { settings: { path, ...more } });

  test("a line without end fails by name", async () => {
    const stream = createWriteStream(join(workspace, "line.csv"));
    stream.write("a,b\n");
    for (let mib = 0; mib < 4; mib += 1) stream.write("x".repeat(1024 * 1024));
    await new Promise((resolve) => stream.end(resolve));
    await expect(read("line.csv")).rejects.toMatchObject({
      code: "unreadable_file",
      message: expect.stringContaining("'line.csv'"),
    });
    await expect(read("line.csv", { format: "json" })).rejects.toMatchObject({
      code: "unreadable_file",
    });
  });

  test("ten thousand columns fail by name", async () => {
    const names = Array.from({ length: 10_000 }, (_, n) => `c${n}`).join(",");
    writeFileSync(join(workspace, "wide.csv"), `${names}\n${names}\n`);
    await expect(read("wide.csv")).rejects.toMatchObject({
      code: "unreadable_file",
      message: expect.stringContaining("10000 columns"),
    });
  });

  test("a workbook that unpacks without end fails by name", async () => {
    writeFileSync(join(workspace, "bomb.xlsx"), bomb("xl/workbook.xml", 300));
    await expect(read("bomb.xlsx")).rejects.toMatchObject({ code: "unreadable_file" });
    await stillWorks();
  });

  test.each(["../secret.csv", "none.csv", "/etc/passwd"])("%s is not there", async (path) => {
    await expect(read(path)).rejects.toMatchObject({ code: "unreadable_file" });
  });
});

describe("the process", () => {
  test("an abort kills the work and throws the reason", async () => {
    const controller = new AbortController();
    const reason = new Error("the run was stopped");
    const endless =
      "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r WHERE n < 0";
    const limits = { signal: controller.signal, timeMs: 60_000 };
    const job = {
      program: "sql",
      settings: { select: endless },
      scope: { trigger: {}, run: {} },
      onRowError: "fail",
    } as const;
    const results = rowProcess.run(job, [await inputOf("rows", [{ n: 1 }])], limits);
    const next = results.next();
    controller.abort(reason);
    await expect(next).rejects.toBe(reason);
    await stillWorks();
  });

  test("an input that waits does not count as the process's time", async () => {
    await stillWorks();
    const input = await inputOf("rows", [{ n: 1 }]);
    let release: () => void = () => undefined;
    const waiting = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow: StepInput = {
      ...input,
      async *chunks() {
        await waiting;
        yield* input.chunks();
      },
    };
    const job = {
      program: "filter",
      settings: { where: "true" },
      scope: { trigger: {}, run: {} },
      onRowError: "fail",
    } as const;
    const limits = { signal: new AbortController().signal, timeMs: 3_000 };
    const results = rowProcess.run(job, [slow], limits);
    const next = results.next();
    setTimeout(release, 3_500);
    await expect(next).resolves.toMatchObject({ value: { kind: "chunk" } });
    await results.return();
  }, 20_000);

  test("what an input throws ends the step", async () => {
    const broken: StepInput = {
      ...(await inputOf("rows", [{ n: 1 }])),
      // biome-ignore lint/correctness/useYield: it fails at once.
      async *chunks() {
        throw new Error("the database is gone");
      },
    };
    const job = {
      program: "filter",
      settings: { where: "true" },
      scope: { trigger: {}, run: {} },
      onRowError: "fail",
    } as const;
    const results = rowProcess.run(job, [broken], {
      signal: new AbortController().signal,
      timeMs: 9_000,
    });
    await expect(results.next()).rejects.toThrow("the database is gone");
  });

  test("its temporary files are gone with the job", () => {
    expect(
      readdirSync(tmpdir()).filter((name) => name.startsWith(`row-process-${process.pid}-`)),
    ).toEqual([]);
  });

  test("many groups are worked on with little memory, in their order", async () => {
    const text = "x".repeat(2_500);
    const rows = Array.from({ length: 24_000 }, (_, n) => ({
      k: n % 22_000,
      t: `${n % 22_000}${text}`,
    }));
    const { outputs } = await runStep(aggregateStep(services), {
      settings: { by: ["k", "t"], values: { n: { op: "count" } } },
      rows,
    });
    expect(outputs.main).toHaveLength(22_000);
    expect(outputs.main.map(({ k }) => k)).toEqual(Array.from({ length: 22_000 }, (_, n) => n));
    expect(outputs.main.filter(({ n }) => n === 2)).toHaveLength(2_000);
  }, 60_000);

  test("rows with every fault are skipped or routed, with their numbers", async () => {
    const rows = Array.from({ length: 2_500 }, (_, n) => ({ n: n % 1_000 === 7 ? "x" : n }));
    const run = (onRowError: "skip" | "route") =>
      runStep(filterStep(services), { settings: { where: "row.n * 2 >= 0" }, rows, onRowError });
    const skipped = await run("skip");
    expect([skipped.outputs.main.length, skipped.rowErrors, skipped.firstRowError?.row]).toEqual([
      2_497, 3, 8,
    ]);
    const routed = await run("route");
    expect(routed.outputs["errors"]?.map((row) => row["_error"])).toMatchObject([
      { row: 8 },
      { row: 1_008 },
      { row: 2_008 },
    ]);
    expect(routed.outputs["errors"]?.[0]?.["n"]).toBe("x");
  });
});
