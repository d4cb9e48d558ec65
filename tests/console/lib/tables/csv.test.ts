import { describe, expect, it } from "vitest";
import { csvAddress, toCsv } from "../../../../src/console/lib/tables/csv.ts";

describe("CSV", () => {
  it("quotes what needs it and leaves missing cells empty", () => {
    expect(
      toCsv(
        ["name", "note"],
        [
          ["ada", 'said "no", twice'],
          [null, "two\nlines"],
          [undefined, true],
        ],
      ),
    ).toBe('name,note\r\nada,"said ""no"", twice"\r\n,"two\nlines"\r\n,true\r\n');
  });

  it("keeps spreadsheets from running a text, and leaves numbers alone", () => {
    expect(toCsv(["a"], [["=1+1"], ["@x"], ["-1"], [-1]])).toBe(
      "a\r\n'=1+1\r\n'@x\r\n'-1\r\n-1\r\n",
    );
  });

  it("is asked for with the filters that are set", () => {
    const query = { model: "qwen 3", key_id: "", user_id: undefined, limit: 10 };
    expect(csvAddress("/api/usage", query)).toBe("/api/usage?format=csv&model=qwen+3&limit=10");
  });
});
