import { mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { aggregateRows } from "../../../src/workflows/row-process/programs/aggregate.ts";
import { joinRows } from "../../../src/workflows/row-process/programs/join.ts";
import { sortRows } from "../../../src/workflows/row-process/programs/sort.ts";
import { RowOutputs } from "../../../src/workflows/row-process/row-outputs.ts";
import type { RowProgram, RowWork } from "../../../src/workflows/row-process/row-program.ts";
import type { InputLine, SentInput } from "../../../src/workflows/row-process/row-work.ts";
import type { Row } from "../../../src/workflows/rows/row.ts";

const LARGE = "x".repeat(1_000_000);
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "temporary-files-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** The files of the job that this process has open, also those that are deleted. */
function openFiles(): readonly string[] {
  return readdirSync("/proc/self/fd").flatMap((descriptor) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${descriptor}`);
      return path.startsWith(folder) ? [path.slice(folder.length + 1)] : [];
    } catch {
      return [];
    }
  });
}

type Rows = () => Iterable<Row>;

/** The work of a program on inputs, each row a batch. */
function workOn(settings: Row, inputs: Readonly<Record<string, Rows>>): RowWork {
  const all = Object.keys(inputs).map((name): SentInput => ({ name, rows: 0, bytes: 0 }));
  async function* lines({ name }: SentInput): AsyncGenerator<readonly InputLine[], void> {
    let number = 0;
    for (const row of inputs[name]?.() ?? []) {
      number += 1;
      yield [{ number, text: JSON.stringify(row) }];
    }
  }
  async function* allLines() {
    for (const input of all) yield* lines(input);
  }
  const scope = { trigger: {}, run: {} };
  const outputs = new RowOutputs("fail");
  return { settings, scope, folder, inputs: all, lines, allLines, outputs };
}

function* large(count: number): Generator<Row> {
  for (let n = 0; n < count; n += 1) yield { n, text: LARGE };
}

const broken = (count: number) =>
  function* (): Generator<Row> {
    yield* large(count);
    throw new Error("the input broke off");
  };

/** Takes what the program yields, up to a number of times. */
async function runProgram(program: RowProgram, work: RowWork, times = Number.POSITIVE_INFINITY) {
  let count = 0;
  for await (const _ of program(work)) {
    work.outputs.take();
    count += 1;
    if (count >= times) break;
  }
}

// Only Linux shows the files of a process here.
const onLinux = describe.skipIf(process.platform !== "linux");
onLinux("temporary files are closed", { timeout: 60_000 }, () => {
  const joining = { with: "right", on: ["n"], how: "inner" };
  const left = function* (): Generator<Row> {
    yield { n: 0 };
    yield { n: 69 };
  };

  test("with the end of a join whose partners are large", async () => {
    const work = workOn(joining, { left, right: () => large(70) });
    await runProgram(joinRows, work);
    expect(openFiles()).toEqual([]);
  });

  test("when nobody wants the rest of a join", async () => {
    await runProgram(joinRows, workOn(joining, { left, right: () => large(70) }), 1);
    expect(openFiles()).toEqual([]);
  });

  test("when this side of a join breaks off", async () => {
    const work = workOn(joining, { left: broken(3), right: left });
    await expect(runProgram(joinRows, work)).rejects.toThrow("the input broke off");
    expect(openFiles()).toEqual([]);
  });

  test("when the input of an aggregate with many groups breaks off", async () => {
    const settings = { by: ["n"], values: { texts: { op: "list", field: "text" } } };
    const work = workOn(settings, { rows: broken(60) });
    await expect(runProgram(aggregateRows, work)).rejects.toThrow("the input broke off");
    expect(openFiles()).toEqual([]);
  });

  test("when nobody wants the rest of a sort", async () => {
    const work = workOn({ by: ["n"] }, { rows: () => large(50) });
    await runProgram(sortRows, work, 1);
    await expect.poll(openFiles, { timeout: 30_000 }).toEqual([]);
  });
});
