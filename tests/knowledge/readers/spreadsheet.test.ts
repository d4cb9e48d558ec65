import { utils, write } from "@e965/xlsx";
import { afterAll, describe, expect, test } from "vitest";
import { openReaderStage } from "../../support/documents/read-blocks.ts";

const NOON = 45_413.5;
const stage = openReaderStage();
afterAll(stage.close);

type BookType = "xlsx" | "biff8" | "xlsb";

async function show(
  cells: readonly (readonly [value: number, format: string])[],
  bookType: BookType = "xlsx",
  date1904 = false,
): Promise<readonly string[]> {
  const sheet = utils.aoa_to_sheet(cells.map(([v, z]) => [{ t: "n", v, z }]));
  const Workbook = { WBProps: { date1904 } };
  const book = { SheetNames: ["Sheet"], Sheets: { Sheet: sheet }, Workbook };
  const bytes = write(book, { type: "buffer", bookType }) as Buffer;
  const blocks = await stage.read("a.bin", bytes);
  return blocks.map((block) => (block.kind === "row" ? (block.cells[0]?.[1] ?? "") : block.kind));
}

describe("a date in a workbook", () => {
  test.each([
    ["dd.mm.yyyy", "2024-05-01"],
    ["dd.mm.yyyy;@", "2024-05-01"],
    ["d. mmm yy", "2024-05-01"],
    ["[$-407]d. mmmm yyyy", "2024-05-01"],
    ['"am" dd.mm.yyyy', "2024-05-01"],
    ["dd.mm.yyyy hh:mm", "2024-05-01 12:00"],
    ["TT.MM.JJJJ", "2024-05-01"],
    ["TT.MM.JJJJ hh:mm", "2024-05-01 12:00"],
    ["jj/mm/aaaa", "2024-05-01"],
    ["dd-mm-jjjj", "2024-05-01"],
    ["gg.mm.aaaa", "2024-05-01"],
    ["d de mmmm de yyyy", "2024-05-01"],
    ["yyyy年m月d日", "2024-05-01"],
  ])("in the format %s is shown in the order of the standard", async (format, shown) => {
    for (const bookType of ["xlsx", "biff8", "xlsb"] as const)
      expect(await show([[NOON, format]], bookType)).toEqual([shown]);
  });

  test.each([
    ["dd/mm/yyyy", "01/05/2024"],
    ["dd\\.mm\\.yyyy", "01.05.2024"],
    ["h:mm AM/PM", "12:00 PM"],
    ['yyyy"年"m"月"d"日"', "2024年5月1日"],
  ])("in the format %s is shown as it says", async (format, shown) => {
    expect(await show([[NOON, format]])).toEqual([shown]);
  });

  test("has its seconds, and none of a time that it does not have", async () => {
    const format = "dd.mm.yyyy hh:mm:ss";
    const cells = [
      [45_413 + 45_296 / 86_400, format],
      [45_413, format],
      [0.75, "uu:mm.ss"],
    ] as const;
    expect(await show(cells)).toEqual(["2024-05-01 12:34:56", "2024-05-01", "18:00"]);
  });

  test("may be counted from 1904", async () => {
    expect(await show([[43_951, "dd.mm.yyyy"]], "xlsx", true)).toEqual(["2024-05-01"]);
  });

  test("is no number of which the format cannot be shown", async () => {
    const cells = [
      [45_413.5, "Standard"],
      [12, '0.00" Std."'],
    ] as const;
    expect(await show(cells)).toEqual(["45413.5", "12.00 Std."]);
  });
});
