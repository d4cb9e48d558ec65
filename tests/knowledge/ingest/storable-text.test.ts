import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type IngestStage, openIngestStage } from "../../support/stages/knowledge/ingest-stage.ts";

let stage: IngestStage;

beforeAll(async () => {
  stage = await openIngestStage();
});
afterAll(() => stage.close());

const utf16 = (text: string) =>
  Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, "utf16le")]);
const NUL = String.fromCharCode(0);
const HALF = String.fromCharCode(0xd83d);

describe("a document with characters that a database cannot store", () => {
  test.each([
    ["json", "n.json", String.raw`{"a":"x\u0000y\ud83d"}`],
    [
      "jsonl",
      "n.jsonl",
      `${String.raw`{"a":"x\u0000y\udc00"}`}\n${String.raw`{"a\u0000":"x\u0000y"}`}\n`,
    ],
    ["text in UTF-16", "n.txt", utf16(`x${NUL}y ${HALF} and some more text\n`.repeat(4))],
    ["headings", "n.md", utf16(`# x${NUL}y${HALF}\n\nSome text x${NUL}y.\n`)],
    ["a table", "n.csv", utf16(`Na${NUL}me,Text\nBolt,x${NUL}y\nNut,xy\n`)],
    ["a long heading", "long.md", `# ${"😀".repeat(99)}a😀😀 xy\n\nText xy.\n`],
  ])("is found without them: %s", async (_what, name, content) => {
    const replica = await stage.startReplica();
    const store = await stage.createStore();
    const id = await stage.upload(name, content);
    await stage.add(store, [id]);
    replica.ingestion.wake();
    await stage.untilEnded(store);
    await replica.close();
    expect(await stage.fileOf(store, id)).toMatchObject({ status: "completed", errorCode: null });
    const chunks = await stage.chunksOf(store, id);
    const all = chunks.map(({ text, heading }) => `${heading ?? ""} ${text}`).join(" ");
    expect(all).toContain("xy");
    expect(all).not.toContain(NUL);
    expect(all).not.toContain("\uFFFD");
  });
});
