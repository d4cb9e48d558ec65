import { describe, expect, test } from "vitest";
import { rowLines } from "../../../../src/knowledge/ingest/chunks/row-lines.ts";
import {
  type Chunk,
  embeddedText,
  splitChunks,
} from "../../../../src/knowledge/ingest/chunks/split-chunks.ts";
import type { Block, Cell } from "../../../../src/knowledge/readers/reader.ts";
import { createRandom } from "../../../support/faults/random.ts";

const OPTIONS = { size: 100, overlap: 20 };
const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

async function split(blocks: readonly Block[], options = OPTIONS, batch = 7): Promise<Chunk[]> {
  const batches: Block[][] = [];
  for (let at = 0; at < blocks.length; at += batch) batches.push(blocks.slice(at, at + batch));
  const chunks: Chunk[] = [];
  for await (const part of splitChunks(batches, options)) chunks.push(...part);
  return chunks;
}

const paragraph = (text: string): Block => ({ kind: "paragraph", text });
const heading = (level: number, text: string): Block => ({ kind: "heading", level, text });
const texts = (chunks: readonly Chunk[]) => chunks.map(({ text }) => text);
const bare = (text: string) => text.replaceAll(/\s/g, "");

test("the lines of a cell become one, however long its blanks are", () => {
  const line = (value: string) => rowLines([["name", value]], 10_000_000);
  expect(line("a \n\n  b\nc")).toEqual(line("a b c"));
  // What looks at a run of blanks from each of its places does not come to an end here.
  const blanks = " ".repeat(2_000_000);
  expect(line(`x${blanks}y`)).toEqual([`name: x${blanks}y`]);
});

describe("where chunks end", () => {
  test("short paragraphs share a chunk", async () => {
    expect(texts(await split([paragraph("One."), paragraph("Two.")]))).toEqual(["One.\n\nTwo."]);
  });

  test("a chunk ends at a paragraph when that fills half of it", async () => {
    const [first, second] = ["a".repeat(30), "b".repeat(30)].map((word) => `${word} ${word}`);
    expect(
      texts(await split([paragraph(first!), paragraph(second!)], { size: 100, overlap: 0 })),
    ).toEqual([first, second]);
  });

  test("a long paragraph ends at sentences, in scripts without spaces as well", async () => {
    const latin =
      "The pump runs at night. It stops in the morning! Who wants that? Nobody knows it for sure.";
    expect(texts(await split([paragraph(latin)], { size: 60, overlap: 0 }))).toEqual([
      "The pump runs at night. It stops in the morning!",
      "Who wants that? Nobody knows it for sure.",
    ]);
    const wide = "ポンプは夜に動きます。朝には止まります。誰がそれを望みますか？誰も知りません。";
    expect(texts(await split([paragraph(wide)], { size: 24, overlap: 0 }))).toEqual([
      "ポンプは夜に動きます。朝には止まります。",
      "誰がそれを望みますか？誰も知りません。",
    ]);
  });

  test("a sentence that is too long ends at words", async () => {
    const chunks = texts(await split([paragraph("word ".repeat(50))], { size: 52, overlap: 0 }));
    expect(chunks.join(" ")).toBe("word ".repeat(50).trim());
    for (const chunk of chunks) expect(chunk).toMatch(/^(word ?)+$/);
  });

  test("a heading ends a chunk and nothing is repeated across it", async () => {
    const chunks = await split([
      heading(1, "A"),
      paragraph("First."),
      heading(2, "B"),
      paragraph("Second."),
      heading(1, "C"),
      paragraph("Third."),
    ]);
    expect(chunks.map(({ heading: path, text }) => [path, text])).toEqual([
      ["A", "First."],
      ["A > B", "Second."],
      ["C", "Third."],
    ]);
  });

  test("a heading without content is a chunk of its own", async () => {
    const chunks = await split([heading(1, "A"), heading(1, "B"), heading(2, "C")]);
    expect(chunks.map(({ heading: path, text }) => [path, text])).toEqual([
      ["A", "A"],
      ["B > C", "C"],
    ]);
  });

  test("a chunk has one page, and names it", async () => {
    const chunks = await split([
      { kind: "paragraph", text: "The first page ends within", page: 1 },
      { kind: "paragraph", text: "a sentence. More text.", page: 2 },
    ]);
    expect(chunks.map(({ page, text }) => [page, text])).toEqual([
      [1, "The first page ends within"],
      [2, "page ends within\n\na sentence. More text."],
    ]);
  });

  test("positions count from 0 without gaps", async () => {
    const chunks = await split(
      Array.from({ length: 40 }, (_, index) => paragraph(`Paragraph ${index} has some words.`)),
    );
    expect(chunks.map(({ position }) => position)).toEqual(chunks.map((_, index) => index));
  });
});

describe("what chunks repeat", () => {
  test("a chunk begins with the last sentence of the one before it, if that is short enough", async () => {
    const text =
      "The pump runs at night. It stops at dawn. Then the valve opens slowly. All is quiet.";
    expect(texts(await split([paragraph(text)], { size: 45, overlap: 22 }))).toEqual([
      "The pump runs at night. It stops at dawn.",
      "It stops at dawn. Then the valve opens",
      "Then the valve opens slowly. All is quiet.",
    ]);
  });

  test("rows are repeated whole or not at all", async () => {
    const rows = Array.from(
      { length: 30 },
      (_, index): Block => ({
        kind: "row",
        cells: [
          ["Name", `Bolt ${index}`],
          ["Price", `${index * 3}`],
        ],
      }),
    );
    const known = new Set(rows.map((_, index) => `Name: Bolt ${index}; Price: ${index * 3}`));
    const chunks = await split(rows, { size: 100, overlap: 30 });
    const lines = chunks.flatMap(({ text }) => text.split("\n"));
    expect(lines.filter((line) => !known.has(line))).toEqual([]);
    expect(lines.length).toBeGreaterThan(known.size);
  });
});

describe("rows", () => {
  const row = (cells: readonly Cell[]): Block => ({ kind: "row", cells, sheet: "Stock" });

  test("each carries the names of its columns, and its chunk the sheet", async () => {
    expect(
      await split([
        row([
          ["Name", "Bolt"],
          ["Price", "5"],
        ]),
        row([
          ["Name", "Nut"],
          ["", "7"],
        ]),
      ]),
    ).toEqual([
      {
        position: 0,
        text: "Name: Bolt; Price: 5\nName: Nut; 7",
        heading: null,
        page: null,
        sheet: "Stock",
      },
    ]);
  });

  test("one that fits into a chunk is never divided", async () => {
    const long = row([["Name", "x".repeat(90)]]);
    const chunks = texts(
      await split([
        paragraph("Some words before the table."),
        long,
        long,
        paragraph("Some after it."),
      ]),
    );
    expect(chunks).toEqual([
      "Some words before the table.",
      `Name: ${"x".repeat(90)}`,
      `Name: ${"x".repeat(90)}`,
      "Some after it.",
    ]);
  });

  test("a value that is too long repeats the name of its column", async () => {
    const chunks = texts(
      await split([
        row([
          ["Id", "7"],
          ["Note", "many words ".repeat(20)],
        ]),
      ]),
    );
    expect(chunks[0]).toBe("Id: 7");
    for (const chunk of chunks.slice(1)) expect(chunk).toMatch(/^Note: (many|words) /);
  });
});

describe("over random documents", () => {
  const PIECES = [
    "a",
    "word",
    " ",
    " ",
    "\n",
    ". ",
    "。",
    "漢字",
    "é",
    "e\u0301",
    "👩‍👩‍👧",
    "🇩🇪",
    "नि",
    "한국",
    "각",
    "\u200d",
    "x".repeat(40),
    "؀١",
    '!" ',
    "กำ",
    "-",
  ];
  let words = 0;
  /** Words differ, so that each is found at its place. */
  const word = () => {
    words += 1;
    return (words + 46_656).toString(36);
  };
  const piece = (index: number) => (PIECES[index] ?? "").replaceAll(/word|x{4}/g, word);
  const document = (seed: number): Block[] => {
    words = 0;
    const random = createRandom(seed);
    const below = (limit: number) => Math.floor(random() * limit);
    const text = () =>
      Array.from({ length: 1 + below(60) }, () => piece(below(PIECES.length)))
        .join("")
        .trim();
    const blocks: Block[] = [];
    for (let index = 0; index < 30; index += 1) {
      const kind = below(10);
      const content = text();
      if (content === "") continue;
      if (kind === 0) blocks.push({ kind: "heading", level: 1 + below(3), text: content });
      else if (kind < 3)
        blocks.push({
          kind: "row",
          cells: [
            ["Col", content],
            ["", "5"],
          ],
          page: 1 + Math.floor(index / 9),
        });
      else blocks.push({ kind: "paragraph", text: content, page: 1 + Math.floor(index / 9) });
    }
    return blocks;
  };
  const SIZES = [
    { size: 50, overlap: 0 },
    { size: 64, overlap: 32 },
    { size: 200, overlap: 60 },
    { size: 50, overlap: 500 },
  ];

  const prose = (seed: number) => document(seed).filter(({ kind }) => kind === "paragraph");

  /** Runs a check over documents and sizes. */
  const overAll = async (
    make: (seed: number) => Block[],
    check: (chunks: readonly string[], blocks: readonly Block[], size: number) => void,
  ) => {
    for (let seed = 0; seed < 40; seed += 1) {
      const blocks = make(seed);
      for (const options of SIZES) check(texts(await split(blocks, options)), blocks, options.size);
    }
  };
  const textsOf = (blocks: readonly Block[]) =>
    blocks.map((block) => ("text" in block ? block.text : ""));
  const graphemesOf = (all: readonly string[]) =>
    all.flatMap((text) => [...graphemes.segment(text)].map(({ segment }) => segment.trim()));

  test("no chunk is longer than the size, or empty", async () => {
    await overAll(document, (chunks, _, size) => {
      expect(Math.max(0, ...chunks.map((text) => text.length))).toBeLessThanOrEqual(size);
      expect(chunks.filter((text) => text.trim() === "")).toEqual([]);
    });
  });

  test("all text is in the chunks, in its order", async () => {
    await overAll(prose, (chunks, blocks) => {
      const all = bare(textsOf(blocks).join(""));
      let covered = 0;
      for (const chunk of chunks.map(bare)) {
        // The chunk begins with what it repeats.
        const isAt = (at: number) => all.startsWith(chunk, at) && at + chunk.length > covered;
        let from = Math.max(0, covered - chunk.length);
        while (from < covered && !isAt(from)) from += 1;
        if (!isAt(from)) expect(all.slice(from, from + chunk.length)).toBe(chunk);
        covered = from + chunk.length;
      }
      expect(covered).toBe(all.length);
    });
  });

  test("no grapheme is divided", async () => {
    await overAll(prose, (chunks, blocks) => {
      const known = new Set(graphemesOf(textsOf(blocks)));
      expect(graphemesOf(chunks).filter((grapheme) => !known.has(grapheme))).toEqual([]);
    });
  });

  test("equal documents give equal chunks, however they are batched", async () => {
    for (let seed = 0; seed < 50; seed += 1)
      expect(await split(document(seed), OPTIONS, 1)).toEqual(
        await split(document(seed), OPTIONS, 100),
      );
  });
});

describe("paragraphs in pieces", () => {
  test("give the chunks of the whole paragraph", async () => {
    const text = "Some sentence of a long paragraph. ".repeat(200).trim();
    const pieces = text.match(/.{1,333}/gs)!.map(
      (piece, index, all): Block => ({
        kind: "paragraph",
        text: piece,
        ...(index < all.length - 1 && { isCut: true as const }),
      }),
    );
    expect(texts(await split(pieces))).toEqual(texts(await split([paragraph(text)])));
  });
});

test("the embedded text begins with the file's name and the headings", () => {
  expect(embeddedText("pumps.pdf", { heading: "A > B", text: "Text." })).toBe(
    "pumps.pdf\nA > B\n\nText.",
  );
  expect(embeddedText("pumps.pdf", { heading: null, text: "Text." })).toBe("pumps.pdf\n\nText.");
});

test("hostile text without any place to divide takes linear time", async () => {
  const zalgo = `a${"\u0301".repeat(500_000)}`;
  const flags = "🇩🇪".repeat(100_000);
  for (const text of [zalgo, flags, "x".repeat(1_000_000), "。".repeat(100_000)])
    for (const chunk of texts(await split([paragraph(text)], { size: 500, overlap: 100 })))
      if (chunk.length > 500) expect(chunk.length).toBeLessThanOrEqual(500);
});
