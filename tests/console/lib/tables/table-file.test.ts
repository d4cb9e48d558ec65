import { expect, it } from "vitest";
import { formatOfFile, previewTable } from "../../../../src/console/lib/tables/table-file.ts";

it("knows a format by the file's name", () => {
  const names = ["a.CSV", "a.tsv", "b.jsonl", "c.json", "d.xlsx", "e.pdf", "csv", "a.constructor"];
  expect(names.map(formatOfFile)).toEqual([
    ...["csv", "csv", "ndjson", "json", "xlsx"],
    ...[undefined, undefined, undefined],
  ]);
});

it("shows how CSV begins, with any delimiter, quotation marks and line ends", () => {
  expect(previewTable('\uFEFFn;name\r\n1;"a;""b""\nc"\r\n\r\n2;\r\n', "csv", true)).toEqual({
    columns: ["n", "name"],
    rows: [
      ["1", 'a;"b"\nc'],
      ["2", ""],
    ],
  });
  expect(previewTable("n,name\n1,a\n2,b", "csv", true)?.rows).toHaveLength(2);
  expect(previewTable("n,name\n1,a\n2,b", "csv", false)?.rows).toHaveLength(1);
  const long = `n\n${"1\n".repeat(500)}`;
  expect(previewTable(long, "csv", true)?.rows).toHaveLength(20);
  expect(previewTable("", "csv", true)).toBeUndefined();
});

it("shows how JSON begins, as far as it can be read", () => {
  const rows = '{"a":1,"b":{"c":"}"}}';
  const first = {
    columns: ["a", "b", "d"],
    rows: [
      [1, { c: "}" }, null],
      [null, null, 'x\\"'],
    ],
  };
  const second = '{"d":"x\\\\\\""}';
  expect(previewTable(`${rows}\n\n${second}\n`, "ndjson", true)).toEqual(first);
  expect(previewTable(`[ ${rows},\n${second} ]`, "json", true)).toEqual(first);
  expect(previewTable(`[${rows}, {"a": "cut off`, "json", false)?.rows).toHaveLength(1);
  expect(previewTable(`${rows}\n{"a":`, "ndjson", false)?.rows).toHaveLength(1);
  expect(previewTable('{"n":9007199254740993}', "ndjson", true)?.rows).toEqual([
    ["9007199254740993"],
  ]);
  expect(previewTable("[1,2]", "json", true)).toBeUndefined();
  expect(previewTable("{", "ndjson", true)).toBeUndefined();
});
