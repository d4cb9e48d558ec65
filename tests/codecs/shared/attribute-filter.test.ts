import { describe, expect, it } from "vitest";
import { parseAttributeFilter } from "../../../src/codecs/shared/attribute-filter.ts";

const YEAR = { type: "eq", key: "year", value: 2026 };
const all = (...filters: readonly unknown[]) => ({ type: "and", filters });
const nested = (levels: number) =>
  Array.from({ length: levels - 1 }).reduce<object>((inner) => all(inner), YEAR);
const listOf = (length: number, key = "tag") => ({
  type: "in",
  key,
  value: Array.from({ length }, (_, index) => `value ${index}`),
});

describe("A filter of attributes", () => {
  it.each<readonly [string, object]>([
    ["a comparison", YEAR],
    ["a list of 100 values", listOf(100)],
    ["ten lists of 100 values", all(...Array(10).fill(listOf(100)))],
    ["100 filters", all(...Array(100).fill(YEAR))],
    ["eight levels", nested(8)],
    [
      "a key of 64 and a text of 512 characters",
      { ...YEAR, key: "日".repeat(64), value: "😀".repeat(256) },
    ],
    ["no filters", all()],
  ])("may have %s", (_, filter) => {
    expect(parseAttributeFilter(filter, ["filters"])).toEqual(filter);
  });

  it.each([null, undefined])("may be %s", (none) => {
    expect(parseAttributeFilter(none, ["filters"])).toBeUndefined();
  });

  it.each<readonly [string, unknown, string]>([
    ["101 filters", all(...Array(101).fill(YEAR)), "filters"],
    ["101 filters in groups", all(all(...Array(99).fill(YEAR)), YEAR), "filters"],
    ["101 empty groups", all(...Array(101).fill(all())), "filters"],
    ["nine levels", nested(9), "filters"],
    ["100,000 levels", nested(100_000), "filters"],
    ["a list of 101 values", all(YEAR, listOf(101)), "filters.filters[1].value"],
    ["1,001 values", all(...Array(10).fill(listOf(100)), listOf(1)), "filters"],
    ["a list that is compared for its order", { ...listOf(2), type: "gt" }, "filters.value"],
    ["one value as a list", { ...YEAR, type: "in" }, "filters.value"],
    ["a key of 65 characters", all({ ...YEAR, key: "k".repeat(65) }), "filters.filters[0].key"],
    ["no key", all({ ...YEAR, key: "" }), "filters.filters[0].key"],
    [
      "a text of 513 characters",
      all({ ...YEAR, value: "v".repeat(513) }),
      "filters.filters[0].value",
    ],
    ["NUL in a key", { ...YEAR, key: "a\0" }, "filters.key"],
    ["NUL in a text", all({ ...YEAR, value: "a\0" }), "filters.filters[0].value"],
    ["NUL in a list", { type: "nin", key: "a", value: ["b", "\0"] }, "filters.value[1]"],
    ["half a character", { ...YEAR, value: "\ud83d" }, "filters.value"],
    ["an infinite number", { ...YEAR, value: Number.POSITIVE_INFINITY }, "filters.value"],
    ["an unknown type", all({ ...YEAR, type: "like" }), "filters.filters[0].type"],
    ["something else in a group", all(5), "filters.filters[0]"],
    ["no object", "year = 2026", "filters"],
  ])("with %s is refused by its path", (_, filter, param) => {
    expect(() => parseAttributeFilter(filter, ["filters"])).toThrow(
      expect.objectContaining({ code: "invalid_value", param }),
    );
  });

  it("with an unknown field is refused by name", () => {
    expect(() => parseAttributeFilter(all({ ...YEAR, values: [1] }), ["filters"])).toThrow(
      expect.objectContaining({
        code: "unsupported_parameter",
        param: "filters.filters[0].values",
      }),
    );
  });

  it("of 300,000 faults is refused for its size, without an error for each", () => {
    const faults = Array(300_000).fill({ type: "in", key: 5, value: {} });
    expect(() => parseAttributeFilter({ type: "and", filters: faults }, ["filters"])).toThrow(
      "at most 100 filters",
    );
  });
});
