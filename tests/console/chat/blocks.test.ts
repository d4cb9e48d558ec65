import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { Blocks } from "../../../src/console/chat/blocks.ts";
import { lex } from "../../../src/console/chat/lex.ts";
import { type AnswerParts, renderTokens } from "../../../src/console/chat/render-tokens.tsx";

/** The least that an answer is shown with. */
const PLAIN: AnswerParts = {
  Code: () => null,
  Formula: () => null,
  Table: () => null,
  Link: ({ href, children }) => createElement("a", { href }, children),
  PictureCard: ({ host, text }) => createElement("i", null, `${host}: ${text}`),
};

const TEXT = [
  "# Title",
  "A paragraph\nof two lines.",
  "- one\n- two\n\n  more of two\n\n- three",
  "```ts\nconst a = 1;\n\n# no heading\n```",
  "| a | b |\n|---|---|\n| 1 | 2 |",
  "> quote\n\n> goes on",
  "Sum: $a^2$ costs $5 and $6.\n\n$$\nx = 1\n$$",
  "The end.",
].join("\n\n");

const shapes = (text: string) =>
  new Blocks().read(text).blocks.map(({ kind, text: own }) => [kind, own.trim()]);

it("divides an answer at blank lines, not within code, lists and quotes", () => {
  const kinds = shapes(TEXT).map(([kind]) => kind);
  // A list may go on behind a blank line, so it stays with what stands above it.
  expect(kinds.join(" ")).toBe("markdown markdown code markdown markdown markdown markdown");
  const [code] = new Blocks().read(TEXT).blocks.filter(({ kind }) => kind === "code");
  expect(code).toMatchObject({ language: "ts", text: "const a = 1;\n\n# no heading" });
});

it("gives the same blocks for an answer that grows as for the whole", () => {
  for (const step of [1, 3, 17]) {
    const growing = new Blocks();
    for (let length = 0; length < TEXT.length; length += step) growing.read(TEXT.slice(0, length));
    expect(growing.read(TEXT)).toEqual(new Blocks().read(TEXT));
  }
});

it("keeps settled blocks as they are while text is added, and begins anew for another text", () => {
  const blocks = new Blocks();
  const before = blocks.read("One.\n\nTwo.\n\nThr").blocks;
  const after = blocks.read("One.\n\nTwo.\n\nThree.\n\nFour.").blocks;
  expect(after[0]).toBe(before[0]);
  expect(after[1]).toBe(before[1]);
  expect(after.map(({ text }) => text.trim())).toEqual(["One.", "Two.", "Three.", "Four."]);
  expect(blocks.read("Other").blocks.map(({ text }) => text)).toEqual(["Other"]);
});

it("divides no more of an answer than is shown, and goes on from there", () => {
  const text = Array.from({ length: 50 }, (_, index) => `Paragraph ${index}.\n\n`).join("");
  const growing = new Blocks();
  for (let length = 0; length <= text.length; length += 7) growing.read(text.slice(0, length), 20);
  const first = growing.read(text, 20);
  expect(first).toEqual(new Blocks().read(text, 20));
  expect(first.blocks).toHaveLength(20);
  expect(text.slice(first.end)).toMatch(/^Paragraph 20\./);
  const all = growing.read(text, 100);
  expect(all).toEqual(new Blocks().read(text));
  expect(all.blocks[10]).toBe(first.blocks[10]);
  expect(all.end).toBe(text.length);
});

it("tells code that may go on from code that a fence has closed", () => {
  const openOf = (text: string) => new Blocks().read(text).blocks.map(({ isOpen }) => isOpen);
  expect(openOf("```ts\nlet a;\nlet b")).toEqual([true]);
  expect(openOf("```ts\nlet a;\n```\n")).toEqual([undefined]);
});

it("shows code whose fence is still open as code", () => {
  expect(shapes("a\n\n```python\nprint(1)\n")).toEqual([
    ["markdown", "a"],
    ["code", "print(1)"],
  ]);
  expect(shapes("````\n```\n````")).toEqual([["code", "```"]]);
  expect(shapes("```\r\na\r\n\r\n  ```\r\nb")).toEqual([
    ["code", "a"],
    ["markdown", "b"],
  ]);
  expect(shapes("~~~\n~~~\nb\n```")).toEqual([
    ["code", ""],
    ["markdown", "b"],
    ["code", ""],
  ]);
});

it.each([
  ["a line of megabytes", "x".repeat(5_000_000)],
  ["brackets", "[".repeat(10_000)],
  ["deep lists", Array.from({ length: 3_000 }, (_, at) => `${" ".repeat(2 * at)}- x`).join("\n")],
  ["deep quotes", `${"> ".repeat(5_000)}a`],
  ["stars", "**a*".repeat(9_000)],
])("does not lex %s", (_name, text) => {
  for (const block of new Blocks().read(text).blocks) expect(lex(block)).toBeUndefined();
});

it("divides long lists and paragraphs, and loses nothing of them", () => {
  for (const text of ["1. item\n".repeat(20_000), "word word\n".repeat(20_000)]) {
    const { blocks } = new Blocks().read(text);
    expect(blocks.map((block) => block.text).join("")).toBe(text);
    for (const block of blocks) expect(block).toMatchObject({ kind: "markdown" });
  }
});

it("finds formulas, and no money", () => {
  const types = new Blocks()
    .read("It is $x^2$ or \\(y\\), and costs $5 to $6.\n\n$$\nz\n$$")
    .blocks.flatMap((block) => lex(block) ?? []);
  const found = JSON.stringify(types).match(/"type":"formula","raw":"(?:\\.|[^"\\])*"/g) ?? [];
  expect(found).toHaveLength(3);
});

it("shows character references as their characters, and code as it is written", () => {
  const shown = (text: string) => {
    const [block] = new Blocks().read(text).blocks;
    return renderToStaticMarkup(renderTokens(lex(block as never) ?? [], PLAIN));
  };
  expect(shown("5&nbsp;&euro; &#8211; &#x1F600; &amp;lt; A&B &unknown; `&copy;`")).toBe(
    "<p>5\u00a0€ – 😀 &amp;lt; A&amp;B &amp;unknown; <code>&amp;copy;</code></p>",
  );
  expect(shown("&#0; &#xD800; &#1114112; \\&copy;")).toBe("<p>\ufffd \ufffd \ufffd &amp;copy;</p>");
  expect(shown("[R&amp;D](https://a.example/?b=1&amp;c=2)")).toBe(
    '<p><a href="https://a.example/?b=1&amp;c=2">R&amp;D</a></p>',
  );
  expect(shown("![5 &lt; 6](https://a.example/)")).toBe("<p><i>a.example: 5 &lt; 6</i></p>");
});

it("checks an address as it is opened", () => {
  for (const address of [
    "javascript&#58;run()",
    "java&#x73;cript:run()",
    "javascript&colon;run()",
  ]) {
    const [block] = new Blocks().read(`[words](${address})`).blocks;
    const shown = renderToStaticMarkup(renderTokens(lex(block as never) ?? [], PLAIN));
    expect(shown).not.toContain("<a");
  }
});

it("finds addresses without the sentence around them, and none in words", () => {
  const tokens = lex(
    new Blocks().read("See (https://a.example/b?c=d). Mail a@b.example or www.c.example.")
      .blocks[0] as never,
  );
  expect(JSON.stringify(tokens)).toContain('"href":"https://a.example/b?c=d"');
  expect(JSON.stringify(tokens).match(/"type":"link"/g)).toHaveLength(1);
});
