import { describe, expect, it } from "vitest";
import { CellTimes, clockText } from "../../../src/knowledge/readers/shared/cell-times.ts";
import { SpannedCells } from "../../../src/knowledge/readers/shared/spanned-cells.ts";

describe("a time of day in a workbook", () => {
  it("is never that of the next day", () => {
    const times = new CellTimes(() => true, false);
    const read = times.read(0.999_999_999_99, "h:mm");
    expect(read?.kind === "clock" && clockText(read.milliseconds)).toBe("23:59:59.999");
  });
});

describe("a cell of a table that claims to reach over many columns", () => {
  it("reaches over as many as HTML allows, and only as long as it says", () => {
    const cells = new SpannedCells();
    cells.beginRow();
    cells.add("wide", { columns: 16_384, rows: 2 });
    cells.endRow();
    cells.beginRow();
    cells.add("beside", { columns: 1, rows: 1 });
    const beside = cells.endRow();
    expect([beside.length, beside.at(-1)]).toEqual([1_001, "beside"]);
    cells.beginRow();
    cells.add("below", { columns: 1, rows: 1 });
    expect(cells.endRow()).toEqual(["below"]);
  });
});
