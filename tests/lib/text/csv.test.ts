import { describe, expect, it } from "vitest";
import { csvText } from "../../../src/lib/text/csv.ts";
import { readCsv } from "../../support/clients/read-csv.ts";

const cell = (value: string | number | boolean | null) =>
  readCsv(csvText(["name", "next"], [{ name: value, next: "end" }]))[1]?.[0];

describe("a table as CSV", () => {
  it("has a header line, and each line ends as RFC 4180 says", () => {
    const rows = [
      { id: "a", count: 1 },
      { id: "b", count: null },
    ];
    expect(csvText(["id", "count"], rows)).toBe("id,count\r\na,1\r\nb,\r\n");
    expect(csvText(["id", "count"], [])).toBe("id,count\r\n");
  });

  it.each([
    "comma, comma",
    'a "quote"',
    '"',
    "two\nlines",
    "two\r\nlines",
    " spaces ",
    "",
    "modèle ☃ 模型",
    "a;b",
  ])("brings the text %j through", (text) => {
    expect(cell(text)).toBe(text);
  });

  it.each([
    "=1+1",
    "=cmd|'/c calc'!A0",
    "=1",
    "+49 30",
    "+1+cmd|'/c calc'!A0",
    "-1+cmd|'/c calc'!A0",
    "-1\n=1",
    "--1",
    "-A1",
    "-1.",
    "-1e9999",
    " -1",
    "-1%",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    " =1",
    "\u00a0=1",
    "\u0000x",
    "\u007f=1",
    "\u0085x",
    "＝1",
    "＋1",
    "－1",
    "＠x",
    '=HYPERLINK("http://x","y")',
  ])("lets no spreadsheet run %j", (text) => {
    expect(cell(text)).toBe(`'${text}`);
  });

  it("leaves numbers and what only looks a little like a formula as they are", () => {
    expect(cell(-12)).toBe("-12");
    expect(cell(true)).toBe("true");
    for (const number of [
      "-1",
      "+1",
      "-12.50",
      "-0.000001",
      "-1.5e-300",
      "+2E+10",
      "-9007199254740993",
    ])
      expect(cell(number)).toBe(number);
    expect(cell("a=b")).toBe("a=b");
    expect(cell("qwen3:8b-instruct")).toBe("qwen3:8b-instruct");
    expect(cell("'quoted'")).toBe("'quoted'");
  });
});
