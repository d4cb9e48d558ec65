import { afterAll, describe, expect, test } from "vitest";
import { blockLine, openReaderStage } from "../../support/documents/read-blocks.ts";

const stage = openReaderStage();
afterAll(stage.close);

const read = async (text: string) => (await stage.read("a.md", text)).map(blockLine);

describe("a table in Markdown", () => {
  const long = (length: number) => "A long word. ".repeat(length / 13).trim();

  /** A line of more than 8,192 characters comes in pieces. */
  test.each([600, 10_000])("goes on below a row of %d characters", async (length) => {
    const note = long(length);
    const rows = `| Name | Note |\n|---|---|\n| Bolt | ${note} |\n| Nut | short |\n`;
    expect(await read(rows)).toEqual([
      "=Name =Note",
      `Name=Bolt Note=${note}`,
      "Name=Nut Note=short",
    ]);
  });

  test("has columns as wide as their longest cell", async () => {
    const [name, note] = ["Name".padEnd(400), "Note".padEnd(400)];
    const marks = `| ${"-".repeat(400)} | :${"-".repeat(398)}: |`;
    expect(await read(`| ${name} | ${note} |\n${marks}\n| Bolt | short |\n`)).toEqual([
      "=Name =Note",
      "Name=Bolt Note=short",
    ]);
  });

  test("has no header of which only the end is at hand", async () => {
    const blocks = await read(`| ${long(10_000)} | Note |\n|---|---|\n| a | b |\n`);
    expect(blocks.join("\n")).not.toContain("=");
  });

  test("is not found below a line of other characters", async () => {
    expect(await read("a | b\n--|-x\n")).toEqual(["a | b\n--|-x"]);
  });
});

describe("code in Markdown", () => {
  test("in three backticks within a line begins no block", async () => {
    expect(await read("```a``` is a command.\n\n# Use\nText.\n")).toEqual([
      "```a``` is a command.",
      "# Use",
      "Text.",
    ]);
  });

  test.each([
    [
      "a line of marks with a text",
      "```\n# a\n``` b\n# c\n```\n# End\n",
      "```\n# a\n``` b\n# c\n```",
    ],
    ["fewer marks", "````\n```\n# a\n````\n# End\n", "````\n```\n# a\n````"],
    ["other marks", "~~~ `x`\n```\n# a\n~~~~  \n# End\n", "~~~ `x`\n```\n# a\n~~~~"],
    [
      "marks that stand too far to the right",
      "```\n    ```\n# a\n   ```\n# End\n",
      "```\n    ```\n# a\n   ```",
    ],
  ])("is not ended by %s", async (_, text, code) => {
    expect(await read(text)).toEqual([code, "# End"]);
  });
});

describe("YAML at the top of Markdown", () => {
  test("has a title, which is a heading, and text", async () => {
    const yaml = '---\ntags: [pump, night]\ntitle: "The Pump"\n# by hand\nauthor: Ada\n---\n';
    expect(await read(`${yaml}\nIt runs.\n\n## Care\nOil it.\n`)).toEqual([
      "# The Pump",
      "tags: [pump, night]\n# by hand\nauthor: Ada",
      "It runs.",
      "## Care",
      "Oil it.",
    ]);
  });

  test("may end with dots, and have no title or one of several lines", async () => {
    expect(await read("---\ntitle: >\n  The\n  Pump\n...\n# Head\n")).toEqual([
      "title: >\n  The\n  Pump",
      "# Head",
    ]);
  });

  test.each([
    ["a rule across the page", "---\n\nText.\n\n---\n\nMore.", ["---", "Text.", "---", "More."]],
    ["a sentence below a rule", "---\nText of it\n---\nMore.", ["---", "## Text of it", "More."]],
    ["what never ends", "---\na: 1\n\n# Head\n", ["---\na: 1", "# Head"]],
    ["what stands further below", "Text.\n\n---\na: 1\n---\n", ["Text.", "---", "## a: 1"]],
  ])("is not %s", async (_, text, blocks) => {
    expect(await read(text)).toEqual(blocks);
  });
});
