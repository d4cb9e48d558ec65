import { expect, it } from "vitest";
import { readOptions } from "../../scripts/faults/options.ts";

it("reads what a run of the faults is asked for", () => {
  expect(readOptions([])).toEqual({ kind: "run", seed: "1", isFull: false, patterns: [] });
  expect(readOptions(["--seed", "42", "--full", "drain"])).toEqual({
    kind: "run",
    seed: "42",
    isFull: true,
    patterns: ["drain"],
  });
});

it.each(["--help", "-h"])("explains itself at %s and runs nothing", (flag) => {
  expect(readOptions([flag])).toEqual({ kind: "help" });
});

it.each([["--sed", "4"], ["--seed"], ["--seed", "abc"], ["--seed", "-1"], ["--seed="]])(
  "runs nothing at a mistake: %s %s",
  (...args) => {
    expect(readOptions(args)).toMatchObject({ kind: "mistake" });
  },
);
