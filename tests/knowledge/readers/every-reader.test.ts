import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { READERS } from "../../../src/knowledge/readers/registry.ts";
import { DOCUMENTS } from "../../support/documents/build-documents.ts";
import { openReaderStage, textOf } from "../../support/documents/read-blocks.ts";

const FORMATS = READERS.map(({ format }) => format);
/** Without characters that a format would have to escape. */
const SAMPLE = "Größe und Prüfmaß: 日本語の文章です。 한국어 русский 😀👍🏽 done.";

const stage = openReaderStage();
afterAll(stage.close);

const documentOf = (format: string, text: string) => {
  const build = DOCUMENTS[format];
  if (build === undefined) throw new Error(`${format} has no sample in build-documents.ts`);
  return build(text);
};

describe.each(FORMATS)("%s", (format) => {
  test("umlauts, other scripts and emoji are read", async () => {
    const { extension, bytes } = documentOf(format, SAMPLE);
    expect(textOf(await stage.read(`sample.${extension}`, bytes))).toContain(
      SAMPLE.normalize("NFKC"),
    );
  });

  test("a file whose name has another extension, or none, is read", async () => {
    const { extension, bytes } = documentOf(format, "plain");
    for (const name of ["sample.txt", "sample", "sample.docx", "sample.bin"])
      expect(textOf(await stage.read(name, bytes)), `${extension} as ${name}`).toContain("plain");
  });

  test("an empty file has no text", async () => {
    const { extension } = documentOf(format, "plain");
    const { code, message } = await stage.refusal(`empty.${extension}`, "");
    expect([code, message]).toEqual(["unsupported_file", "The file is empty."]);
  });

  test("a torn file is read as far as it goes, or refused with a reason", async () => {
    const { extension, bytes } = documentOf(format, "plain text ".repeat(200));
    for (const part of [0.05, 0.3, 0.6, 0.9, 0.999]) {
      const torn = bytes.subarray(0, Math.floor(bytes.length * part));
      const outcome = await stage.read(`torn.${extension}`, torn).catch((thrown) => thrown);
      if (outcome instanceof Error)
        expect(outcome).toMatchObject({ name: "UnreadableFile", code: /^(in|un)/ });
    }
    expect(textOf(await stage.read(`whole.${extension}`, bytes))).toContain("plain text");
  });

  test("an aborted read ends with the signal's reason, and the next file is read", async () => {
    const { extension, bytes } = documentOf(format, "plain");
    const controller = new AbortController();
    const reading = stage.read(`sample.${extension}`, bytes, controller.signal);
    controller.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
    expect(textOf(await stage.read(`sample.${extension}`, bytes))).toContain("plain");
  });

  test("a document beyond the limit of characters is refused", async () => {
    const small = openReaderStage({ limits: { characters: 5_000 } });
    const { extension, bytes } = documentOf(format, "word ".repeat(2_000));
    const { code, message } = await small.refusal(`long.${extension}`, bytes);
    small.close();
    expect([code, message]).toEqual([
      "invalid_file",
      "The document has more than 5,000 characters.",
    ]);
  });

  test("a long text comes in blocks and batches of bounded size, and in whole", async () => {
    const { extension, bytes } = documentOf(format, "words and words ".repeat(1_500).trim());
    const path = join(stage.folder, "long");
    writeFileSync(path, bytes);
    let text = "";
    for await (const batch of stage.reader.read(
      { path, filename: `long.${extension}` },
      new AbortController().signal,
    )) {
      for (const block of batch) {
        expect(textOf([block]).length).toBeLessThanOrEqual(20_000);
        text += textOf([block]);
      }
      expect(textOf(batch).length).toBeLessThanOrEqual(60_000);
    }
    expect(text.match(/words\s+and\s+words/g)?.length).toBeGreaterThanOrEqual(1_490);
  });
});
