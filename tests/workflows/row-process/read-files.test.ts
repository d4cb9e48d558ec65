import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { utils, write } from "@e965/xlsx";
import iconv from "iconv-lite";
import { afterAll, describe, expect, test } from "vitest";
import { openFileConnections } from "../../../src/knowledge/file-connections.ts";
import { openRowProcess } from "../../../src/workflows/row-process/open-row-process.ts";
import type { Row } from "../../../src/workflows/rows/row.ts";
import { readFileStep } from "../../../src/workflows/steps/read-file.ts";
import { runStep } from "../../support/workflows/step-stage.ts";

const rowProcess = openRowProcess({ processes: 1 });
const data = mkdtempSync(join(tmpdir(), "read-rows-"));
const workspace = join(data, "workspace");
mkdirSync(join(workspace, "many"), { recursive: true });
const fileConnections = openFileConnections({
  WORKSPACE_DIR: workspace,
  WATCH_DIRS: [],
  DATA_DIR: data,
});
const kind = readFileStep({ rowProcess, fileConnections });
afterAll(() => {
  rowProcess.close();
  rmSync(data, { recursive: true });
});

async function read(name: string, content: string | Uint8Array, more: Row = {}) {
  writeFileSync(join(workspace, name), content);
  return (await runStep(kind, { settings: { path: name, ...more } })).outputs.main;
}

describe("CSV", () => {
  test("columns of plain numbers and of true and false have their types", async () => {
    const text =
      'id;zip;price;ok;big;"a name";empty\n1;01234;1.50;true;1234567890123456;"x;""y""";\n2;99999;;FALSE;1;z;\n';
    expect(await read("a.csv", text)).toEqual([
      {
        id: 1,
        zip: "01234",
        price: 1.5,
        ok: true,
        big: "1234567890123456",
        "a name": 'x;"y"',
        empty: null,
      },
      { id: 2, zip: "99999", price: null, ok: false, big: "1", "a name": "z", empty: null },
    ]);
  });

  test("with types text every cell is a text", async () => {
    expect(await read("b.csv", "a,b\n1,\n", { types: "text" })).toEqual([{ a: "1", b: "" }]);
  });

  test("names are made unique, and a type of the first rows binds the later ones only where they fit", async () => {
    const lines = Array.from({ length: 1_500 }, (_, n) => `${n},x`).join("\n");
    const rows = await read("c.csv", `a,a\n${lines}\nlast,y\n`);
    expect([rows.length, rows[1_499], rows[1_500]]).toEqual([
      1_501,
      { a: 1_499, a_2: "x" },
      { a: "last", a_2: "y" },
    ]);
  });

  test("other encodings and delimiters are found", async () => {
    const text = "name\tstadt\nJürgen Groß\tKöln\n";
    expect(await read("d.tsv", iconv.encode(text, "windows-1252"))).toEqual([
      { name: "Jürgen Groß", stadt: "Köln" },
    ]);
    expect(await read("e.csv", iconv.encode(`\ufeff${text}`, "utf-16le"))).toEqual([
      { name: "Jürgen Groß", stadt: "Köln" },
    ]);
  });

  test("a record with too many fields is the fault of its row", async () => {
    await expect(read("f.csv", "a,b\n1,2\n1,2,3\n")).rejects.toMatchObject({
      code: "wrong_record",
      row: 2,
    });
  });
});

describe("JSON", () => {
  test("the items of a list are rows, and so is a single object", async () => {
    const list = ' [ {"a": "]},[{"}, {"b": [1, {"c": "\\""}]} , 5 ]\n';
    expect(await read("a.json", list)).toEqual([
      { a: "]},[{" },
      { b: [1, { c: '"' }] },
      { value: 5 },
    ]);
    expect(await read("b.json", '{"a": {"b": [1]}}\n')).toEqual([{ a: { b: [1] } }]);
    expect(await read("c.json", "[]")).toEqual([]);
  });

  test("integers beyond 2^53 become texts", async () => {
    expect(
      await read("d.json", '[{"n": 9007199254740993, "t": "9007199254740993", "f": 0.5}]'),
    ).toEqual([{ n: "9007199254740993", t: "9007199254740993", f: 0.5 }]);
  });

  test.each(['[{"a": 1}', '[{"a": 1},]', "{", "[1 2]", "nothing", '{"a":1} {"b":2}'])(
    "%s is no JSON",
    async (text) => {
      await expect(read("e.json", text)).rejects.toMatchObject({ code: "unreadable_file" });
    },
  );

  test("lines are rows, and a wrong one is the fault of its row", async () => {
    expect(await read("a.ndjson", '{"a":1}\r\n\n{"a":2}')).toEqual([{ a: 1 }, { a: 2 }]);
    await expect(read("b.jsonl", '{"a":1}\n{"a":\n')).rejects.toMatchObject({
      code: "invalid_json",
      row: 2,
    });
  });
});

describe("other files", () => {
  test("a workbook has the values of its cells", async () => {
    const book = utils.book_new();
    const cells = [
      ["id", "when", "ok", "text"],
      [1, new Date(Date.UTC(2026, 10, 23)), true, "007"],
    ];
    utils.book_append_sheet(book, utils.aoa_to_sheet([["other"]]), "First");
    utils.book_append_sheet(book, utils.aoa_to_sheet(cells, { UTC: true }), "Second");
    const bytes = write(book, { type: "buffer", bookType: "xlsx" }) as Buffer;
    expect(await read("a.xlsx", bytes, { sheet: "Second" })).toEqual([
      { id: 1, when: "2026-11-23", ok: true, text: "007" },
    ]);
    await expect(read("a.xlsx", bytes, { sheet: "Third" })).rejects.toMatchObject({
      message: expect.stringContaining("'First', 'Second'"),
    });
  });

  test.each([
    ["dd.mm.yyyy", 45_000, "2023-03-15"],
    ["TT.MM.JJJJ hh:mm", 45_000.5, "2023-03-15T12:00:00.000Z"],
    ["h:mm", 0.354166666666667, "08:30:00"],
    ["[h]:mm", 1.0625, "25:30:00"],
    ["Standard", 45_000.5, 45_000.5],
    ["yyyy-mm-dd", 20_260_101, 20_260_101],
    ["yyyy-mm-dd", -1, -1],
    ["yyyy-mm-dd", 1e300, 1e300],
  ])("a workbook's cell of the format %s has %d as %s", async (format, value, expected) => {
    const sheet = utils.aoa_to_sheet([["a"], [{ t: "n", v: value, z: format }]]);
    const bytes = write(utils.book_new(sheet, "Times"), { type: "buffer", bookType: "xlsx" });
    expect(await read("times.xlsx", bytes as Buffer)).toEqual([{ a: expected }]);
    if (format === "Standard") return;
    const asTexts = await read("times.xlsx", bytes as Buffer, { types: "text" });
    expect(asTexts).toEqual([{ a: String(expected) }]);
  });

  test("a workbook's cell without a heading is the fault of its row; empty cells are none", async () => {
    const book = utils.book_new();
    const cells = [["a", "b"], [1, 2, ""], [3], [4, 5, null, "lost"]];
    utils.book_append_sheet(book, utils.aoa_to_sheet(cells, { sheetStubs: true }), "One");
    writeFileSync(join(workspace, "wide.xlsx"), write(book, { type: "buffer" }) as Buffer);
    const settings = { path: "wide.xlsx" };
    await expect(runStep(kind, { settings })).rejects.toMatchObject({
      ...{ code: "wrong_record", row: 3, message: expect.stringContaining("column 4") },
    });
    const { outputs } = await runStep(kind, { settings, onRowError: "route" });
    expect(outputs.main).toEqual([
      { a: 1, b: 2 },
      { a: 3, b: null },
    ]);
    expect(outputs["errors"]).toMatchObject([{ a: 4, b: 5, _error: { code: "wrong_record" } }]);
  });

  test("a document is one row of text", async () => {
    expect(await read("a.md", "# Title\n\nText.\n")).toEqual([
      { text: expect.stringContaining("Text."), part: 1 },
    ]);
  });

  test("all files of a glob are read in the order of their paths, with the path if it is wanted", async () => {
    writeFileSync(join(workspace, "many", "2.csv"), "a\n2\n");
    writeFileSync(join(workspace, "many", "1.csv"), "a\n1\n");
    const { outputs } = await runStep(kind, {
      settings: { path: "many/*.csv", file_field: "file" },
    });
    expect(outputs.main).toEqual([
      { a: 1, file: "many/1.csv" },
      { a: 2, file: "many/2.csv" },
    ]);
  });

  test("of a glob, one that cannot be read is the fault of a row, and the next one follows", async () => {
    mkdirSync(join(workspace, "some"));
    writeFileSync(join(workspace, "some", "1.json"), '{"a": 1}');
    writeFileSync(join(workspace, "some", "2.json"), "nothing");
    writeFileSync(join(workspace, "some", "3.json"), '{"a": 3}');
    const settings = { path: "some/*.json" };
    const whole = { rowErrors: 1, firstRowError: { row: 2, code: "unreadable_file" } };
    const skipped = await runStep(kind, { settings, onRowError: "skip" });
    expect(skipped).toMatchObject({ ...whole, outputs: { main: [{ a: 1 }, { a: 3 }] } });
    const { outputs } = await runStep(kind, { settings, onRowError: "route" });
    expect(outputs["errors"]).toEqual([
      { file: "some/2.json", _error: expect.objectContaining({ row: 2, code: "unreadable_file" }) },
    ]);
    const failure = { code: "unreadable_file", message: expect.stringContaining("'some/2.json'") };
    await expect(runStep(kind, { settings })).rejects.toMatchObject(failure);
    const one = { settings: { path: "some/2.json" }, onRowError: "skip" } as const;
    await expect(runStep(kind, one)).rejects.toMatchObject(failure);
  });
});

describe("a path with {{ }}", () => {
  const readArrived = async (path: string, given = "{{ trigger.path }}") =>
    (await runStep(kind, { settings: { path: given }, trigger: { kind: "file", path } as never }))
      .outputs.main;

  test("is that of the file that arrived, whatever it is called", async () => {
    mkdirSync(join(workspace, "in"));
    writeFileSync(join(workspace, "in", "a[1]*.json"), '{"a": 1}');
    writeFileSync(join(workspace, "in", "b.json"), '{"b": 1}');
    expect(await readArrived("in/a[1]*.json")).toEqual([{ a: 1 }]);
    expect(await readArrived("b", "in/{{ trigger.path }}.json")).toEqual([{ b: 1 }]);
    expect(await readArrived("in", "{{ trigger.path }}/*.json")).toEqual([{ a: 1 }, { b: 1 }]);
    expect(kind.expressions?.({ path: "{{ trigger.path }}" }, [])).toEqual([
      { field: "path", kind: "text", text: "{{ trigger.path }}" },
    ]);
  });

  test.each(["../secret.json", "/etc/passwd", "in/../../x", ""])(
    "that becomes %j is refused",
    async (path) => {
      await expect(readArrived(path)).rejects.toMatchObject({ code: "path_refused" });
    },
  );

  test("without a value fails the step", async () => {
    await expect(readArrived("x", "{{ trigger.nothing }}")).rejects.toMatchObject({
      name: "StepFailure",
    });
  });
});
