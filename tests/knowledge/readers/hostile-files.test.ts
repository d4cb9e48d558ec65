import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { archive, bomb, writeManyEntries } from "../../support/documents/build-bombs.ts";
import { docx, odt, pdf, pdfOf, wordXml } from "../../support/documents/build-documents.ts";
import { openReaderStage, textOf } from "../../support/documents/read-blocks.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import { spawnProgram } from "../../support/processes/spawn-program.ts";
import type { ReadReport } from "../../support/programs/read-documents.ts";

/** Several files, each with its time, on a machine that does much else. */
vi.setConfig({ testTimeout: 400_000, hookTimeout: 400_000 });

const MIB = 1024 * 1024;
const GROWTH_MAX_MB = 64;
const TIME_MAX_MS = 65_000;

const folder = mkdtempSync(join(tmpdir(), "hostile-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const file = (name: string, content: string | Uint8Array) => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};
const PLAIN = file("plain.txt", "plain text ".repeat(100_000));

/** Reads files in a process of their own, and after each of them a plain one. */
async function readApart(paths: readonly string[]): Promise<readonly ReadReport[]> {
  const files = paths.flatMap((path) => [path, PLAIN]);
  const program = await spawnProgram("read-documents", [PLAIN, ...files]);
  expect(await program.ended, program.output()).toBe(0);
  const reports = program
    .output()
    .trim()
    .split("\n")
    .map((line): ReadReport => JSON.parse(line));
  expect(reports).toHaveLength(files.length);
  return reports.filter((report, place) => {
    if (place % 2 === 1) expect(report).toMatchObject({ failure: null, characters: 1_099_999 });
    return place % 2 === 0;
  });
}

function expectBounded(report: ReadReport | undefined): ReadReport {
  expect(report?.growthMb).toBeLessThanOrEqual(GROWTH_MAX_MB);
  expect(report?.durationMs).toBeLessThanOrEqual(TIME_MAX_MS);
  expect(report?.failure ?? "").not.toContain(folder);
  return report as ReadReport;
}

async function readAlone(path: string): Promise<ReadReport> {
  const [report] = await readApart([path]);
  return expectBounded(report);
}

/** A file on one line, without holding it. */
function writeLine(path: string, megabytes: number): string {
  const descriptor = openSync(path, "w");
  for (let written = 0; written < megabytes; written += 1)
    writeSync(descriptor, "abcdefg ".repeat(125_000));
  closeSync(descriptor);
  return path;
}

describe("archives that unpack to 10 GB", () => {
  const TOO_LARGE = "invalid_file: Unpacked, the file has more than 200 MiB.";

  const bombs: readonly (readonly [string, string, Readonly<Record<string, string>>])[] = [
    ["docx", "word/document.xml", {}],
    ["xlsx", "xl/worksheets/sheet1.xml", { "xl/workbook.xml": "<workbook/>" }],
    [
      "pptx",
      "ppt/slides/slide1.xml",
      {
        "ppt/presentation.xml": '<p xmlns:r="r"><sldId r:id="a"/></p>',
        "ppt/_rels/presentation.xml.rels":
          '<R><Relationship Id="a" Type="slide" Target="slides/slide1.xml"/></R>',
      },
    ],
    ["odt", "content.xml", { mimetype: "application/vnd.oasis.opendocument.text" }],
    ["ods", "content.xml", { mimetype: "application/vnd.oasis.opendocument.spreadsheet" }],
  ];
  let reports: readonly ReadReport[];

  beforeAll(async () => {
    reports = await readApart(
      bombs.map(([extension, name, others]) =>
        file(`bomb.${extension}`, bomb(name, 10_240, others)),
      ),
    );
  });

  test.each(bombs.map(([extension], place) => [extension, place] as const))("%s", (_, place) => {
    const report = expectBounded(reports[place]);
    expect([
      TOO_LARGE,
      "invalid_file: The document has more than 20,000,000 characters.",
    ]).toContain(report.failure);
  });
});

test("an archive with a million files is refused", async () => {
  const path = join(folder, "entries.docx");
  writeManyEntries(path, 1_000_000);
  expect((await readAlone(path)).failure).toBe(
    "invalid_file: The file contains more than 10,000 parts.",
  );
});

test("100 MB on one line are beyond the limit of characters", async () => {
  const report = await readAlone(writeLine(join(folder, "line.txt"), 100));
  expect(report.failure).toBe("invalid_file: The document has more than 20,000,000 characters.");
});

test.each(trialSize(["html", "csv"], ["json", "html", "xml", "csv", "md", "jsonl"]))(
  "100 MB on one line, as %s, are read or refused",
  async (extension) => {
    expect((await readAlone(writeLine(join(folder, `line.${extension}`), 100))).failure).toMatch(
      /^invalid_file: /,
    );
  },
);

test("19 MB on one line are read, in bounded memory", async () => {
  const report = await readAlone(writeLine(join(folder, "long.txt"), 19));
  expect(report).toMatchObject({ failure: null, characters: 18_999_999 });
});

test("a PDF whose pages contain themselves is read or refused", async () => {
  const pages = "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 1000000000 >>";
  const loop = pdfOf(["<< /Type /Catalog /Pages 2 0 R >>", pages]);
  expect((await readAlone(file("loop.pdf", loop))).failure).toMatch(
    /^(invalid|unsupported)_file: /,
  );
  const small = pdfOf(["<< /Type /Catalog /Pages 2 0 R >>", pages.replace("1000000000", "5")]);
  expect((await readAlone(file("small.pdf", small))).failure).toMatch(
    /^(invalid|unsupported)_file: /,
  );
});

test("a document that is nested without end is refused", async () => {
  const deep = docx(`${"<w:a>".repeat(500_000)}${"</w:a>".repeat(500_000)}`);
  expect((await readAlone(file("deep.docx", deep))).failure).toBe(
    "invalid_file: The XML is nested too deeply.",
  );
  const page = `<html>${"<div>".repeat(300_000)}deep`;
  const report = await readAlone(file("deep.html", page));
  if (report.failure !== null) expect(report.failure).toMatch(/^invalid_file: /);
});

describe("refusals", () => {
  const stage = openReaderStage();
  afterAll(stage.close);
  const refusal = async (name: string, content: string | Uint8Array) => {
    const { code, message } = await stage.refusal(name, content);
    return `${code}: ${message}`;
  };
  const PROTECTED = "invalid_file: The file is protected with a password. Upload it without one.";
  const OLE = Buffer.from("d0cf11e0a1b11ae1", "hex");

  test("protected files", async () => {
    const part = { name: "word/document.xml", method: 0, data: Buffer.from(wordXml("")), flags: 1 };
    expect(await refusal("a.docx", archive([part]))).toBe(PROTECTED);
    const container = Buffer.concat([
      OLE,
      Buffer.alloc(2_000),
      Buffer.from("EncryptedPackage", "utf16le"),
    ]);
    expect(await refusal("a.xlsx", container)).toBe(PROTECTED);
    const manifest = '<m:file-entry m:full-path="content.xml"><m:encryption-data/></m:file-entry>';
    expect(await refusal("a.odt", odt("<text:p>x</text:p>", manifest))).toBe(PROTECTED);
    const encrypt = `/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <${"ab".repeat(32)}> /U <${"cd".repeat(32)}> >> /ID [<${"12".repeat(16)}> <${"12".repeat(16)}>]`;
    expect(await refusal("a.pdf", pdf(["secret"], encrypt))).toBe(PROTECTED);
  });

  test("files without text", async () => {
    expect(await refusal("scan.pdf", pdf([""]))).toBe(
      "unsupported_file: The PDF has no text. Scanned pages are not read; upload it with a text layer.",
    );
    expect(await refusal("blank.txt", " \n \n")).toBe("unsupported_file: The file has no text.");
    expect(await refusal("a.docx", docx("<w:p/>"))).toBe("unsupported_file: The file has no text.");
  });

  test("files of other kinds", async () => {
    const image = Buffer.concat([
      Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"),
      Buffer.alloc(3_000, "\u0001\u0002x"),
    ]);
    for (const name of ["a.png", "a.pdf", "a.docx", "a.txt"])
      expect(await refusal(name, image)).toMatch(/^unsupported_file: This is no document/);
    expect(
      await refusal("a.zip", archive([{ name: "a.txt", method: 0, data: Buffer.from("x") }])),
    ).toMatch(/^unsupported_file: Archives/);
    expect(await refusal("a.doc", Buffer.concat([OLE, Buffer.alloc(3_000)]))).toMatch(
      /^unsupported_file: Older Word/,
    );
  });

  test("a stored file that is missing is the server's error", async () => {
    const reading = stage.reader.read(
      { path: join(folder, "missing"), filename: "a.txt" },
      new AbortController().signal,
    );
    await expect(reading.next()).rejects.toMatchObject({
      code: "server_error",
      message: "The stored file could not be read.",
    });
  });

  test("limits of time and memory are named", async () => {
    const slow = openReaderStage({ limits: { timeMs: 1 } });
    const { message } = await slow.refusal("a.txt", "x");
    slow.close();
    expect(message).toBe("The file took more than 0 s to read.");
    const small = openReaderStage({ limits: { memoryBytes: 20 * MIB } });
    const greedy = await small.refusal(
      "a.json",
      JSON.stringify(Array.from({ length: 100_000 }, (_, index) => ({ index }))),
    );
    small.close();
    expect(greedy.message).toBe("The file needs more than 20 MiB of memory to read.");
    expect(textOf(await stage.read("a.txt", "next"))).toBe("next");
  });
});
