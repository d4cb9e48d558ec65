import { expect, it } from "vitest";
import { diffLines, diffWords } from "../../../src/console/lib/diff.ts";

it("tells what was removed and added, and keeps the rest", () => {
  expect(diffLines("a\nb\nc\nd", "a\nx\nc\nd\ne")).toEqual([
    { kind: "same", text: "a" },
    { kind: "removed", text: "b" },
    { kind: "added", text: "x" },
    { kind: "same", text: "c\nd" },
    { kind: "added", text: "e" },
  ]);
  expect(diffWords("Reads a file.", "Reads  a file, and sends it.")).toEqual([
    { kind: "removed", text: "Reads " },
    { kind: "added", text: "Reads  " },
    { kind: "same", text: "a " },
    { kind: "removed", text: "file." },
    { kind: "added", text: "file, and sends it." },
  ]);
});

it("both texts can be read from the parts, for any two texts", () => {
  const words = ["a", "b", "c", "d"];
  let seed = 7;
  const random = () => {
    seed = (seed * 16_807) % 2_147_483_647;
    return seed;
  };
  const text = () =>
    Array.from({ length: random() % 12 }, () => words[random() % words.length]).join(" ");
  for (let trial = 0; trial < 300; trial += 1) {
    const [before, after] = [text(), text()];
    const parts = diffWords(before, after);
    const without = (kind: string) =>
      parts.map((part) => (part.kind === kind ? "" : part.text)).join("");
    expect([without("added"), without("removed")]).toEqual([before, after]);
  }
});

it("replaces the whole of texts that are too large to be compared", () => {
  const lines = (from: string) => Array.from({ length: 3_000 }, (_, at) => `${from}${at}`);
  const parts = diffLines(lines("a").join("\n"), lines("b").join("\n"));
  expect(parts.map(({ kind }) => kind)).toEqual(["removed", "added"]);
});
