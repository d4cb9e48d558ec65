import { describe, expect, it } from "vitest";
import { CustomInput } from "../../../src/codecs/responses/server/items/custom-input.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import { createRandom } from "../chat-completions/read-streams.ts";

/** The pieces of input that these pieces of arguments give, without the empty ones. */
function read(pieces: Iterable<string>): { pieces: string[]; text: string } {
  const input = new CustomInput();
  const given: string[] = [];
  for (const piece of pieces) given.push(input.push(piece));
  given.push(input.end());
  return { pieces: given.filter((piece) => piece !== ""), text: input.text };
}

const PATCH =
  "*** Begin Patch\n+\tif (a < \"b\") { c('\\\\d\\u0000'); }\r\n👩‍👩‍👧 é\u2028\b\f/ end";

describe("the input of a custom tool", () => {
  it.each([
    ["as JSON is printed", JSON.stringify({ input: PATCH })],
    ["with spaces", ` {\n "input" : ${JSON.stringify(PATCH)} } `],
    ["with every character escaped", `{"input":"${escapeAll(PATCH)}"}`],
  ])("is what was meant, however its arguments are cut: %s", (_, text) => {
    const random = createRandom(7);
    for (let round = 0; round < trialSize(100, 500); round++) {
      const { pieces, text: whole } = read(cut(text, 1 + random(9)));
      expect(whole).toBe(PATCH);
      expect(pieces.join("")).toBe(PATCH);
      // Throws on half a character.
      for (const piece of pieces) encodeURIComponent(piece);
    }
  });

  it("comes while it is written", () => {
    const input = new CustomInput();
    expect(input.push('{"input": "a')).toBe("a");
    expect(input.push("b\\")).toBe("b");
    expect(input.push("n")).toBe("\n");
    expect(input.push('c"')).toBe("c");
    expect(input.push("}")).toBe("");
    expect(input.end()).toBe("");
  });

  it.each([
    ["cut in its midst", '{"input":"a\\nb', "a\nb"],
    ["cut in an escape", '{"input":"a\\u00', "a"],
    ["cut within a character", '{"input":"a\\ud83d', "a\ud83d"],
    ["behind many blanks", `${" ".repeat(200)}{"input":"a\\n"}`, "a\n"],
    ["cut before it begins", '{"inp', '{"inp'],
    ["with a line break that is not escaped", '{"input":"a\nb"}', "a\nb"],
    ["with an escape that JSON does not know", '{"input":"\\d\\uzzzz"}', "\\d\\uzzzz"],
    ["after another member", '{"why":"x","input":"a"}', "a"],
    ["under another name", '{"patch":"a"}', "a"],
    ["as a bare string", '"a\\n"', "a\n"],
    ["as plain text", "*** Begin", "*** Begin"],
    ["of another type", '{"input":5}', '{"input":5}'],
    ["among several", '{"a":"b","c":"d"}', '{"a":"b","c":"d"}'],
    ["empty", '{"input":""}', ""],
    ["of no members", "{}", ""],
    ["missing", "", ""],
  ])("is given when it is %s", (_, text, expected) => {
    for (const size of [1, 3, 100]) {
      const { pieces, text: whole } = read(cut(text, size));
      expect(whole).toBe(expected);
      expect(pieces.join("")).toBe(expected);
    }
  });

  // A cost that grows with the square of their number takes minutes.
  it.each([
    ["of another form", '{"patch":"', "x", '"}'],
    ["of blanks", " ", " ", '{"patch":"x"}'],
    ["of the usual form", '{"input":"', "x", '"}'],
  ])("is read at once from 400,000 pieces %s", { timeout: 20_000 }, (_, first, piece, last) => {
    const input = new CustomInput();
    input.push(first);
    for (let count = 0; count < 400_000; count++) input.push(piece);
    input.push(last);
    input.end();
    expect(input.text).toBe(piece === " " ? "x" : "x".repeat(400_000));
  });
});

function* cut(text: string, size: number): Iterable<string> {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
}

function escapeAll(text: string): string {
  return Array.from({ length: text.length }, (_, at) => {
    return `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`;
  }).join("");
}
