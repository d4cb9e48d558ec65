import { describe, expect, it } from "vitest";
import { ThinkTagSplitter } from "../../../src/codecs/shared/think-tag-splitter.ts";

/** What the deltas add up to: thoughts, then the answer. */
function split(...deltas: string[]): [reasoning: string, text: string] {
  const splitter = new ThinkTagSplitter();
  const pieces = [...deltas.flatMap((delta) => splitter.push(delta)), ...splitter.flush()];
  expect(pieces.every((piece) => piece.text !== "")).toBe(true);
  const join = (kind: string) =>
    pieces.map((piece) => (piece.kind === kind ? piece.text : "")).join("");
  return [join("reasoning"), join("text")];
}

describe("thoughts in tags", () => {
  it.each<[content: string, reasoning: string, text: string]>([
    ["<think>a < b</think>c", "a < b", "c"],
    [" \n<think>\n a\n</think>\n\n c ", "a\n", "c "],
    ["<think></think>c", "", "c"],
    ["<think>\n\n</think>\n\nc", "", "c"],
    ["<think>a</thin</think>b</think>", "a</thin", "b</think>"],
    ["<think>never closed </th", "never closed </th", ""],
    ["c <think>a</think>", "", "c <think>a</think>"],
    ["<thinking>a", "", "<thinking>a"],
    ["<thi", "", "<thi"],
    ["  c", "", "  c"],
    ["\n", "", "\n"],
    ["", "", ""],
  ])("%j, cut anywhere", (content, reasoning, text) => {
    expect(split(content)).toEqual([reasoning, text]);
    expect(split(...content)).toEqual([reasoning, text]);
    for (let cut = 1; cut < content.length; cut++) {
      expect(split(content.slice(0, cut), content.slice(cut))).toEqual([reasoning, text]);
    }
  });

  it("holds text back only while it may be a tag", () => {
    const splitter = new ThinkTagSplitter();
    expect(splitter.push("<th")).toEqual([]);
    expect(splitter.push("e")).toEqual([{ kind: "text", text: "<the" }]);
    expect(splitter.push("<think>")).toEqual([{ kind: "text", text: "<think>" }]);
    expect(new ThinkTagSplitter().push(" ".repeat(100))).toHaveLength(1);
  });
});
