import { strFromU8, strToU8, unzipSync, zipSync } from "fflate";
import { afterAll, describe, expect, test } from "vitest";
import { pptx } from "../../support/documents/build-documents.ts";
import { openReaderStage, textOf } from "../../support/documents/read-blocks.ts";

const stage = openReaderStage();
afterAll(stage.close);

const PRESENTATION = "ppt/presentation.xml";
const NOTES =
  '<p:notes xmlns:p="p" xmlns:a="a"><p:sp><a:p><a:r><a:t>the notes</a:t></a:r></a:p></p:sp></p:notes>';

/** A presentation of two slides with more parts, and with another list of slides. */
function presentation(
  parts: Readonly<Record<string, string>>,
  change: (list: string) => string = (list) => list,
): Uint8Array {
  const made = unzipSync(pptx(["first", "second"]));
  const list = strFromU8(made[PRESENTATION] ?? new Uint8Array());
  const added = Object.entries(parts).map(([name, text]) => [name, strToU8(text)] as const);
  return zipSync({
    ...made,
    [PRESENTATION]: strToU8(change(list)),
    ...Object.fromEntries(added),
  });
}

const textsOf = async (bytes: Uint8Array) => textOf(await stage.read("a.pptx", bytes)).split("\n");

describe("A presentation", () => {
  test.each(["https://example.com/caf%E9", "http://", "mailto:a%"])(
    "with a link to %s is read, its notes too",
    async (link) => {
      const relations = [
        `<Relationship Id="rId1" Type="x/hyperlink" Target="${link}" TargetMode="External"/>`,
        `<Relationship Id="rId2" Type="x/notesSlide" Target="${link}"/>`,
        '<Relationship Id="rId3" Type="x/notesSlide" Target="../notesSlides/notesSlide1.xml"/>',
      ];
      const bytes = presentation({
        "ppt/slides/_rels/slide2.xml.rels": `<Relationships>${relations.join("")}</Relationships>`,
        "ppt/notesSlides/notesSlide1.xml": NOTES,
      });
      expect(await textsOf(bytes)).toEqual(["Title", "first", "the notes", "Title", "second"]);
    },
  );

  test.each<readonly [string, (list: string) => string]>([
    ["after", (list) => list],
    ["before", (list) => list.replaceAll(/(id="\d+") (r:id="\w+")/g, "$2 $1")],
    ["with another prefix after", (list) => list.replaceAll("r:id", "rel:id")],
    ["without", (list) => list.replaceAll(/ id="\d+"/g, "")],
  ])("has its slides when the relation stands %s the number of a slide", async (_what, change) => {
    const texts = ["Title", "first", "Title", "second"];
    expect(await textsOf(presentation({}, change))).toEqual(texts);
  });
});
