import { afterAll, describe, expect, test } from "vitest";
import { openReaderStage } from "../../support/documents/read-blocks.ts";

const stage = openReaderStage();
afterAll(stage.close);

const cellsOf = async (name: string, text: string) => {
  const blocks = await stage.read(name, text);
  return blocks.flatMap((block) => (block.kind === "row" ? block.cells : []));
};

describe("Numbers of JSON", () => {
  test.each(["a.json", "a.jsonl"])(
    "that are too large to be exact keep all digits in %s",
    async (name) => {
      const text =
        '{"order":1234567890123456789,"below":-9007199254740993,"tags":[1,12345678901234567890],"huge":1e400,"price":5.50,"text":"id 1234567890123456789"}';
      expect(await cellsOf(name, text)).toEqual([
        ["order", "1234567890123456789"],
        ["below", "-9007199254740993"],
        ["tags", "1, 12345678901234567890"],
        ["huge", "1e400"],
        ["price", "5.5"],
        ["text", "id 1234567890123456789"],
      ]);
    },
  );
});
