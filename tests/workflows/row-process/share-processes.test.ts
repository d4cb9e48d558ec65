import { afterEach, describe, expect, test } from "vitest";
import {
  openRowProcess,
  type RowProcessOptions,
} from "../../../src/workflows/row-process/open-row-process.ts";
import type { RowProcess, RowResult } from "../../../src/workflows/row-process/row-process.ts";
import { inputOf } from "../../support/workflows/step-stage.ts";

const DAY_MS = 86_400_000;
/** The machine of a test may be slow to start a process. */
const PATIENT = { shortMs: 60_000, checkWaitMs: 60_000 };
const ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT";
/** It gives rows for ever, so that a test sees when it runs. */
const endlessRows = `${ENDLESS} x FROM c`;
const endlessCount = `${ENDLESS} count(*) AS n FROM c`;
const scope = { trigger: {}, run: { id: "run_1" } };
const { signal } = new AbortController();

const open: RowProcess[] = [];
afterEach(() => {
  for (const rowProcess of open.splice(0)) rowProcess.close();
});

function start(options: RowProcessOptions): RowProcess {
  const rowProcess = openRowProcess(options);
  open.push(rowProcess);
  return rowProcess;
}

function sql(rowProcess: RowProcess, select: string, owner: string) {
  const job = { program: "sql", settings: { select }, scope, onRowError: "fail" } as const;
  return rowProcess.run(job, [], { signal, timeMs: DAY_MS, owner });
}

async function mapRows(rowProcess: RowProcess, owner: string): Promise<RowResult[]> {
  const settings = { set: { x: "row.n + 1" } };
  const job = { program: "map", settings, scope, onRowError: "fail" } as const;
  const results: RowResult[] = [];
  const input = await inputOf("rows", [{ n: 1 }]);
  for await (const result of rowProcess.run(job, [input], { signal, timeMs: DAY_MS, owner }))
    results.push(result);
  return results;
}

const checked = (rowProcess: RowProcess) =>
  rowProcess.check([{ field: "x", kind: "expression", text: "row.a +" }], "usr_2");

describe("while one owner's SELECTs do not end", () => {
  test("another owner's steps work, and workflows are checked", async () => {
    const rowProcess = start({ processes: 2, times: PATIENT });
    const first = sql(rowProcess, endlessRows, "usr_1");
    await first.next();
    const second = sql(rowProcess, endlessRows, "usr_1");
    const waiting = second.next();
    expect(await mapRows(rowProcess, "usr_2")).toHaveLength(1);
    expect(await checked(rowProcess)).toHaveLength(1);
    await first.return();
    expect((await waiting).done).toBe(false);
    await second.return();
  });

  test("workflows are checked and texts filled in, even if all processes are taken", async () => {
    const rowProcess = start({ processes: 1, times: PATIENT });
    const endless = sql(rowProcess, endlessRows, "usr_1");
    await endless.next();
    expect(await checked(rowProcess)).toHaveLength(1);
    const templates = { t: { kind: "text", text: "Hello {{ row.n }}" } } as const;
    expect(await rowProcess.evaluate(templates, [{ n: 1 }], scope, signal)).toEqual([
      { values: { t: "Hello 1" } },
    ]);
    await endless.return();
  });

  test("they end by themselves, long before the time of the step", async () => {
    const rowProcess = start({ processes: 1, times: { setsSilenceMs: 3_000 } });
    await expect(sql(rowProcess, endlessCount, "usr_1").next()).rejects.toMatchObject({
      code: "row_process_time",
      message: expect.stringContaining("or 3 s without passing on rows"),
    });
    expect(await mapRows(rowProcess, "usr_2")).toHaveLength(1);
  });
});

describe("a check that has no answer in time", () => {
  const overloaded = {
    code: "overloaded",
    status: 503,
    message: expect.stringContaining("Send the request again"),
  };

  test("is refused while it waits, and the next one works", async () => {
    const rowProcess = start({ processes: 1, times: { checkWaitMs: 1, shortMs: 60_000 } });
    await expect(checked(rowProcess)).rejects.toMatchObject(overloaded);
    const templates = { t: { kind: "text", text: "{{ row.n }}" } } as const;
    expect(await rowProcess.evaluate(templates, [{ n: 1 }], scope, signal)).toHaveLength(1);
  });

  test("is refused when its process was ended", async () => {
    const rowProcess = start({ processes: 1, times: { shortMs: 1 } });
    await expect(checked(rowProcess)).rejects.toMatchObject(overloaded);
  });

  test("waits for one evaluation that does not end, and no longer", async () => {
    const rowProcess = start({ processes: 1, times: { ...PATIENT, shortMs: 10_000 } });
    const l = Array.from({ length: 300 }, (_, n) => n);
    const loops = "row.l.all(a, row.l.all(b, row.l.all(c, row.l.all(d, a + b + c + d >= 0))))";
    const templates = { t: { kind: "expression", expression: loops } } as const;
    let ended = 0;
    const evaluations = ["run_1", "run_2", "run_3"].map(async (id) => {
      const run = rowProcess.evaluate(templates, [{ l }], { trigger: {}, run: { id } }, signal);
      await expect(run).rejects.toMatchObject({
        code: expect.stringMatching(/row_process_time|row_process_crashed/),
      });
      ended += 1;
    });
    expect(await checked(rowProcess)).toHaveLength(1);
    expect(ended).toBeLessThanOrEqual(1);
    rowProcess.close();
    await Promise.all(evaluations);
  });
});
