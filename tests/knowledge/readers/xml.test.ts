import { afterAll, describe, expect, test } from "vitest";
import { openReaderStage } from "../../support/documents/read-blocks.ts";

const stage = openReaderStage();
afterAll(stage.close);

const cellsOf = async (attributes: string, element = "i") => {
  const text = `<?xml version="1.0"?><r><${element} ${attributes}><n>Bolt</n></${element}></r>`;
  const blocks = await stage.read("a.xml", text);
  return blocks.flatMap((block) => (block.kind === "row" ? block.cells : []));
};

describe("Attributes of XML", () => {
  test("are no cells where they declare a prefix", async () => {
    const declared = 'xmlns="http://a" xmlns:x="http://x" xmlns:id="http://id" x:unit="EUR"';
    expect(await cellsOf(declared)).toEqual([
      ["unit", "EUR"],
      ["n", "Bolt"],
    ]);
  });

  test.each<readonly [string, string, readonly (readonly [string, string])[]]>([
    [
      'id="1" x:id="2"',
      "i",
      [
        ["id", "1"],
        ["x:id", "2"],
      ],
    ],
    [
      'x:id="2" id="1"',
      "i",
      [
        ["x:id", "2"],
        ["id", "1"],
      ],
    ],
    [
      'x:id="2" y:id="3"',
      "y:i",
      [
        ["x:id", "2"],
        ["id", "3"],
      ],
    ],
    [
      'x:id="2" y:id="3"',
      "i",
      [
        ["id", "2"],
        ["y:id", "3"],
      ],
    ],
  ])("%s of %s with one local name are all kept", async (attributes, element, cells) => {
    expect(await cellsOf(attributes, element)).toEqual([...cells, ["n", "Bolt"]]);
  });
});
