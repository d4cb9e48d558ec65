import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CellObject, utils, write } from "@e965/xlsx";
import iconv from "iconv-lite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { csvRows } from "../../../../src/data/datasets/imports/csv-rows.ts";
import { jsonRows, ndjsonRows } from "../../../../src/data/datasets/imports/json-rows.ts";
import type { FileRow } from "../../../../src/data/datasets/imports/table-job.ts";
import { xlsxRows } from "../../../../src/data/datasets/imports/xlsx-rows.ts";
import { READ_LIMITS, type SourceFile } from "../../../../src/knowledge/readers/reader.ts";
import { openSourceFile } from "../../../../src/knowledge/readers/shared/source-file.ts";

const READERS = { csv: csvRows, ndjson: ndjsonRows, json: jsonRows, xlsx: xlsxRows };
type Format = keyof typeof READERS;

let folder: string;
let files = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "table-rows-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function rowsOf(format: Format, content: string | Uint8Array): Promise<FileRow[]> {
  files += 1;
  const path = join(folder, `file-${files}`);
  await writeFile(path, content);
  const file: SourceFile = await openSourceFile(path, `file.${format}`, READ_LIMITS);
  const rows: FileRow[] = [];
  for await (const row of READERS[format](file)) if ("values" in row) rows.push(row);
  return rows;
}

it.each([
  ["h:mm", 0.354166666666667, "08:30:00"],
  ["h:mm AM/PM", 0.75, "18:00:00"],
  ["[$-F400]h:mm:ss\\ AM/PM", 0, "00:00:00"],
  ["[h]:mm", 1.0625, "25:30:00"],
  ["[hh]:mm:ss", 40 / 24, "40:00:00"],
  ["[m]", 0.5, "12:00:00"],
  ["[h]:mm", -0.0625, "-01:30:00"],
  ["h:mm", 45_000.5, "2023-03-15T12:00:00Z"],
  ['yyyy-mm-dd "at" hh:mm', 45_000.5, "2023-03-15T12:00:00Z"],
  ["mmm", 45_000, "2023-03-15"],
  ["0.00", 0.5, 0.5],
  ["TT.MM.JJJJ", 45_000, "2023-03-15"],
  ["JJJJMMTT", 45_000, "2023-03-15"],
  ["yyyymmdd", 45_000, "2023-03-15"],
  ["dd.mm.yyyy hh:mm", 45_000.5, "2023-03-15T12:00:00Z"],
  ["uu:mm.ss", 0.75, "18:00:00"],
  ["Standard", 45_000.5, 45_000.5],
  ["0 Stk", 12, 12],
  ["yyyy-mm-dd", 2_958_465, "9999-12-31"],
  ["yyyy-mm-dd hh:mm:ss.000", 45_000 + 45_296.789 / 86_400, "2023-03-15T12:34:56.789Z"],
  ["yyyy-mm-dd hh:mm:ss", 45_000 + 43_199.9996 / 86_400, "2023-03-15T12:00:00Z"],
  ["yyyy-mm-dd hh:mm:ss", 45_000 + 86_399.9997 / 86_400, "2023-03-16"],
  ["mm:ss.0", 90.5 / 86_400, "00:01:30.500"],
  ["[h]:mm:ss", -90.25 / 86_400, "-00:01:30.250"],
  ["[h]:mm:ss", 3_599.9999 / 86_400, "01:00:00"],
])("a workbook's cell of the format %s has %d as %s", async (format, value, expected) => {
  const bytes = workbookOf([{ t: "n", v: value, z: format }]);
  expect(await rowsOf("xlsx", bytes)).toEqual([{ line: 2, values: { a: expected } }]);
});

it.each([
  ["yyyy-mm-dd", -1],
  ["yyyy-mm-dd", 20_260_101],
  ["yyyy-mm-dd", 2_958_466],
  ["yyyy-mm-dd", 60],
  ["h:mm", -0.5],
  ["[h]:mm", 1e300],
])(
  "a workbook's cell of the format %s refuses %d, by its row and column",
  async (format, value) => {
    const reading = rowsOf("xlsx", workbookOf([{ t: "n", v: value, z: format }]));
    await expect(reading).rejects.toMatchObject({
      code: "a",
      message: `Row 2, column 'a': ${value} has the format of a date, and is the number of none.`,
    });
  },
);

it("a workbook may count its days from 1904", async () => {
  const cells = [0, 0.5, 43_538].map((v) => ({ t: "n", v, z: "yyyy-mm-dd" }) as const);
  const rows = await rowsOf("xlsx", workbookOf([...cells, { t: "n", v: 0.5, z: "h:mm" }], true));
  expect(rows.map(({ values }) => values["a"])).toEqual([
    ...["1904-01-01", "1904-01-01T12:00:00Z", "2023-03-15", "12:00:00"],
  ]);
  await expect(
    rowsOf("xlsx", workbookOf([{ t: "n", v: 2_958_465, z: "yyyy-mm-dd" }], true)),
  ).rejects.toThrow("the number of none");
});

/** A workbook of one column `a`. */
function workbookOf(cells: readonly CellObject[], date1904 = false): Buffer {
  const sheet = utils.aoa_to_sheet([["a"], ...cells.map((cell) => [cell])]);
  const Workbook = { WBProps: { date1904 } };
  const book = { SheetNames: ["Times"], Sheets: { Times: sheet }, Workbook };
  return write(book, { type: "buffer", bookType: "xlsx" }) as Buffer;
}

describe("a CSV", () => {
  it.each([",", ";", "\t", "|"])(
    "is divided by %j, whatever is in its quotation marks",
    async (mark) => {
      const csv = ["a,b", '1,"x,;""|"', ",", '"",2'].join("\n").replaceAll(/,(?=[^;])|,$/gm, mark);
      const rows = await rowsOf("csv", csv);
      expect(rows.map(({ values }) => values["a"])).toEqual(["1", null, ""]);
      expect(rows[0]?.values["b"]).toMatch(/^x.;"\|$/);
    },
  );

  it("has its lines counted as an editor counts them", async () => {
    const rows = await rowsOf("csv", '\ufeffa,b\r\n1,"x\ny\nz"\r\n\r\n2,c\r\n');
    expect(rows.map(({ line }) => line)).toEqual([2, 6]);
  });

  it("of one column has a row in an empty line, and none after the last one", async () => {
    const rows = await rowsOf("csv", '\r\na\r\n1\r\n\r\n""\r\n\r\n');
    expect(rows).toEqual([
      { line: 3, values: { a: "1" } },
      { line: 4, values: { a: null } },
      { line: 5, values: { a: "" } },
      { line: 6, values: { a: null } },
    ]);
    expect(await rowsOf("csv", "a,b\n\n1,2\n\n")).toEqual([
      { line: 3, values: { a: "1", b: "2" } },
    ]);
  });

  it.each(["utf8", "utf16-le", "windows-1252"])("is read in %s", async (encoding) => {
    const text = `name,note\n${"Müller,größer als früher\n".repeat(50)}`;
    const bytes = iconv.encode(text, encoding, { addBOM: encoding === "utf16-le" });
    const rows = await rowsOf("csv", bytes);
    expect(rows).toHaveLength(50);
    expect(rows[49]?.values).toEqual({ name: "Müller", note: "größer als früher" });
  });

  it("may leave out cells at the end of a line", async () => {
    expect(await rowsOf("csv", "a,b\n1\n")).toEqual([{ line: 2, values: { a: "1", b: null } }]);
  });
});

describe("JSON", () => {
  it("may be cut anywhere into the pieces of its file", async () => {
    const rows = Array.from({ length: 5_000 }, (_, n) => ({
      n,
      text: `[${n}], {"x"} \\" ü`,
      deep: [[{ n }]],
    }));
    const found = await rowsOf("json", JSON.stringify(rows, null, 1));
    expect(found.map(({ values }) => values)).toEqual(rows);
    const lines = await rowsOf("ndjson", rows.map((row) => JSON.stringify(row)).join("\r\n"));
    expect(lines.map(({ values }) => values)).toEqual(rows);
  });

  it("keeps whole numbers beyond 2^53 as texts, and changes no text", async () => {
    const text =
      '{"a":12345678901234567890,"b":"12345678901234567890","c":[-9007199254740993],"d":1234567890123456.5,"e":1e20}';
    const expected = {
      ...{ a: "12345678901234567890", b: "12345678901234567890", c: ["-9007199254740993"] },
      ...{ d: 1234567890123456.5, e: 1e20 },
    };
    expect(await rowsOf("ndjson", text)).toEqual([{ line: 1, values: expected }]);
    expect(await rowsOf("json", `[${text}]`)).toEqual([{ line: 1, values: expected }]);
  });

  it("may be an empty array", async () => {
    expect(await rowsOf("json", " [ ] \n")).toEqual([]);
  });
});

it.each([
  ["a quotation mark that is not closed", "csv", 'n,name\n1,"a\n', /^Line \d: a quotation mark/],
  [
    "a quotation mark within a cell",
    "csv",
    'n,name\n1,5" pipe\n',
    /^Line 2: a quotation mark stands within a cell/,
  ],
  [
    "a row that is too long",
    "csv",
    `n,name\n1,${"x".repeat(1_100_000)}`,
    /more than 1048576 characters/,
  ],
  ["more cells than headings", "csv", "n,name\n1,a,b\n", /^Line 2: it has 3 cells/],
  ["a heading twice", "csv", "n,n\n1,2\n", /two columns have the heading 'n'/],
  ["a column without a heading", "csv", "n,,m\n1,2,3\n", /^Line 1: column 2 has no heading/],
  ["no line at all", "csv", "", /no line with headings/],
  ["binary content", "csv", "\0\x01\x02\x03\x04\x05".repeat(1_000), /no text/],
  ["a line that is no JSON", "ndjson", '{"n":1}\n{"n":\n', /^Line 2: this is not valid JSON/],
  ["a line that is no object", "ndjson", "[1]", /^Line 1: a row has to be a JSON object/],
  ["a line that is too long", "ndjson", `{"n":"${"x".repeat(1_100_000)}`, /more than 1048576/],
  ["an array that is not closed", "json", '[{"n":1}', /the array is not closed/],
  ["no array", "json", '{"n":1}', /begins with '\['/],
  ["nothing", "json", " ", /empty/],
  ["a missing row", "json", '[{"n":1},]', /a row is missing/],
  ["text after the array", "json", '[{"n":1}] x', /text follows/],
  ["a row that never ends", "json", `[{"n":"${"x".repeat(1_200_000)}`, /more than 1048576/],
  ["bytes that are no workbook", "xlsx", "PK no", /no XLSX workbook/],
] as const)("%s (%s) is told by name", async (_, format, content, message) => {
  await expect(rowsOf(format, content)).rejects.toThrow(message);
});
