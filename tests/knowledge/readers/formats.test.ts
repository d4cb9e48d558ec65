import { utils, write } from "@e965/xlsx";
import { strToU8, zipSync } from "fflate";
import iconv from "iconv-lite";
import { afterAll, describe, expect, test } from "vitest";
import type { Block } from "../../../src/knowledge/readers/reader.ts";
import { docx, odt, pdf, pptx, run, wordXml } from "../../support/documents/build-documents.ts";
import { blockLine, openReaderStage, textOf } from "../../support/documents/read-blocks.ts";

const stage = openReaderStage();
afterAll(stage.close);

const brief = (blocks: readonly Block[]) => blocks.map(blockLine);
const read = async (name: string, content: string | Uint8Array) =>
  brief(await stage.read(name, content));

describe("encodings", () => {
  const GERMAN =
    "Die Größe der Öffnung beträgt fünf Meter, für Türen genügen zwei. Straße und Übung.\n";
  const JAPANESE =
    "これは日本語の文章です。ポンプは夜に動きます。カタカナと漢字も含まれています。\n";
  const RUSSIAN = "Насос работает ночью и останавливается утром. Это русский текст для проверки.\n";

  test.each([
    ["utf-8", GERMAN],
    ["utf-16le", GERMAN],
    ["utf-16be", GERMAN],
    ["windows-1252", GERMAN],
    ["windows-1251", RUSSIAN],
    ["shift_jis", JAPANESE],
    ["euc-jp", JAPANESE],
    ["utf-16le", JAPANESE],
  ])("%s is detected: %s", async (encoding, text) => {
    const content = iconv.encode(text.repeat(5), encoding);
    expect(textOf(await stage.read("a.txt", content))).toBe(text.repeat(5).trim());
  });

  test.each(["utf-8", "utf-16le", "utf-16be"])(
    "%s with a mark is read without it",
    async (encoding) => {
      const content = iconv.encode("Größe 日本語", encoding, { addBOM: true });
      expect(await read("a.txt", content)).toEqual(["Größe 日本語"]);
      expect(
        await read("a.csv", iconv.encode("Maß;Ort\n5;Köln", encoding, { addBOM: true })),
      ).toEqual(["=Maß =Ort", "Maß=5 Ort=Köln"]);
    },
  );

  test("a short text that is not UTF-8 is Western European", async () => {
    expect(await read("a.txt", iconv.encode("Größe: fünf", "windows-1252"))).toEqual([
      "Größe: fünf",
    ]);
  });

  test("UTF-8 is recognised although its first 100,000 bytes are ASCII", async () => {
    expect(textOf(await stage.read("a.txt", `${"word ".repeat(20_000)}Größe`))).toMatch(/Größe$/);
  });

  test("what a page or document declares is used", async () => {
    const page = '<html><head><meta charset="windows-1251"></head><p>Да</p></html>';
    expect(await read("a.html", iconv.encode(page, "windows-1251"))).toEqual(["Да"]);
    const xml = '<?xml version="1.0" encoding="ISO-8859-2"?><a>Łódź</a>';
    expect(await read("a.xml", iconv.encode(xml, "iso-8859-2"))).toEqual(["Łódź"]);
    const wide = iconv.encode('<?xml version="1.0"?><a>Łódź</a>', "utf-16le", { addBOM: true });
    expect(await read("a", wide)).toEqual(["Łódź"]);
  });

  test("a declaration that nobody knows does not count", async () => {
    const text = "ポンプは夜に動きます。カタカナと漢字も含まれています。".repeat(20);
    const page = `<html><head><meta charset="x-euc-jp"></head><p>${text}</p></html>`;
    expect(await read("a.html", iconv.encode(page, "euc-jp"))).toEqual([text]);
    const xml = `<?xml version="1.0" encoding="x-euc-jp"?><a>${text}</a>`;
    expect(await read("a.xml", iconv.encode(xml, "euc-jp"))).toEqual([text]);
  });
});

describe("texts", () => {
  test("paragraphs are separated by empty lines and keep their lines", async () => {
    expect(
      await read("a.py", "def a():\r\n    return 1\r\n\r\n\r\n# comment\r\nx = 2\r\n"),
    ).toEqual(["def a():\n    return 1", "# comment\nx = 2"]);
  });

  test("Markdown has headings and tables, but not in code", async () => {
    const text =
      "# One #\nText.\n\nTwo\n---\n```sh\n# comment\n```\n\n| Name | Price |\n|---|--:|\n| Bolt | 5 |\n| a \\| b | 6 |\n\nEnd.\n";
    expect(await read("a.md", text)).toEqual([
      "# One",
      "Text.",
      "## Two",
      "```sh\n# comment\n```",
      "=Name =Price",
      "Name=Bolt Price=5",
      "Name=a | b Price=6",
      "End.",
    ]);
  });

  test("HTML has one space for white space of any kind", async () => {
    const page = "<!doctype html><p>one two  three\tfour \n five\f\f six   \r\n seven</p>";
    expect(await read("a.html", page)).toEqual(["one two three four five six seven"]);
  });

  test("an old XLS has its texts in the code page that it names", async () => {
    const book = utils.book_new(utils.aoa_to_sheet([["XXXXX"]]), "Sheet");
    const bytes: Buffer = write(book, { type: "buffer", bookType: "biff5" });
    const [codePage, westEuropean] = [Buffer.from([0x42, 0, 2, 0]), 1_252];
    const at = bytes.indexOf(codePage) + codePage.length;
    expect(bytes.readUInt16LE(at)).toBe(westEuropean);
    bytes.writeUInt16LE(1_251, at);
    bytes.set(iconv.encode("Насос", "windows-1251"), bytes.indexOf("XXXXX"));
    expect(await read("a.xls", bytes)).toEqual(["=Насос"]);
  });

  test("a text that begins with many comments is no HTML, and is known as such at once", async () => {
    const comments = "<!-- checked -->\n".repeat(40);
    expect((await read("a.md", `${comments}# Title\n`)).at(-1)).toBe("# Title");
    expect(await read("a", `${comments}<html><p>One`)).toEqual(["One"]);
  });

  test("HTML has headings, paragraphs and tables without scripts and navigation", async () => {
    const text =
      "<!doctype html><title>T</title><style>p{}</style><script>x()</script><nav>Menu</nav><h2>Head</h2><p>One <b>two</b>\n three<br>four<ul><li>a<li>b</ul><pre>x\n  y</pre><table><tr><th>Name<th>Price<tr><td>Bolt<td><p>5</p><p>6</p></table>";
    expect(await read("a.html", text)).toEqual([
      "# T",
      "## Head",
      "One two three\nfour",
      "a",
      "b",
      "x\n  y",
      "=Name =Price",
      "Name=Bolt Price=5 6",
    ]);
  });

  test("HTML has the names of columns for cells after those that reach over several", async () => {
    const head = "<thead><tr><th>Kind<th>Name<th>Price<th>Stock</thead>";
    const body =
      "<tr><td rowspan=2>Bolt<td>M3<td>1<td>9<tr><td>M4<td colspan=2>on request" +
      "<tr><td colspan=2>all nuts<td>3<td rowspan=0>8<tr><td>Ring<td>R1<td>4";
    const last = "<tbody><tr><td colspan=x rowspan=-1>Cap<td>C1<td>5<td>7";
    expect(await read("a.html", `<table>${head}${body}${last}</table>`)).toEqual([
      "=Kind =Name =Price =Stock",
      "Kind=Bolt Name=M3 Price=1 Stock=9",
      "Name=M4 Price=on request",
      "Kind=all nuts Price=3 Stock=8",
      "Kind=Ring Name=R1 Price=4",
      "Kind=Cap Name=C1 Price=5 Stock=7",
    ]);
  });

  test.each([",", ";", "\t", "|"])(
    "CSV with the delimiter %j carries its header",
    async (delimiter) => {
      const text = 'Name,Note\nBolt,"long, with ""quotes""\nand lines"\n\nNut,,extra\n'.replaceAll(
        ",",
        delimiter,
      );
      expect(await read("a.csv", text)).toEqual([
        "=Name =Note",
        `Name=Bolt Note=long${delimiter} with "quotes"\nand lines`,
        `Name=Nut =extra`,
      ]);
    },
  );

  test("a table of figures has no header", async () => {
    expect(await read("a.csv", "1,2\n3,4\n")).toEqual(["=1 =2", "=3 =4"]);
  });

  test("a quotation mark that is never closed is an error with its place", async () => {
    const { code, message } = await stage.refusal("a.csv", `a,b\n"${"x,\n".repeat(10)}`);
    expect(code).toBe("invalid_file");
    expect(message).toMatch(/quotation mark near line \d+ that is not closed/);
  });

  test("JSON has a row for each object, with the paths of its values", async () => {
    const value = {
      name: "Bolt",
      size: { mm: 5, in: null },
      tags: ["a", "b"],
      parts: [{ id: 1 }, { id: 2, note: "x" }],
    };
    expect(await read("a.json", JSON.stringify(value))).toEqual([
      "name=Bolt size.mm=5 tags=a, b",
      "parts.id=1",
      "parts.id=2 parts.note=x",
    ]);
    expect(await read("a.jsonl", '{"a":1}\nno json\n{"a":2}\n')).toEqual(["a=1", "no json", "a=2"]);
  });

  test("JSON that is nested without end is text", async () => {
    expect(
      textOf(await stage.read("a.json", "[".repeat(50_000))).replaceAll("\n", ""),
    ).toHaveLength(50_000);
  });

  test("XML has rows for records and paragraphs for texts, and expands no entities", async () => {
    const text =
      '<?xml version="1.0"?><r><i id="1"><n>Bolt</n><p unit="EUR">5</p></i><t><b>Hello</b> big <i>world</i></t></r>';
    expect(await read("a.xml", text)).toEqual(["id=1 n=Bolt p=5 p unit=EUR", "Hello big world"]);
    const laughs =
      '<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><r>&b;</r>';
    expect(await stage.refusal("a.xml", laughs)).toMatchObject({
      code: "invalid_file",
      message: /line 1/,
    });
  });
});

describe("documents", () => {
  test("DOCX has headings by style and level, tables, and no deleted text", async () => {
    const styles =
      '<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style><w:style w:styleId="Own"><w:basedOn w:val="berschrift1"/></w:style>';
    const styled = (style: string, text: string) =>
      `<w:p><w:pPr><w:pStyle w:val="${style}"/></w:pPr>${run(text)}</w:p>`;
    const cell = (text: string) => `<w:tc><w:p>${run(text)}</w:p></w:tc>`;
    const body = [
      styled("Own", "One"),
      `<w:p><w:pPr><w:outlineLvl w:val="1"/></w:pPr>${run("Two")}</w:p>`,
      `<w:p>${run("a")}<w:r><w:tab/></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:ins>${run("b")}</w:ins></w:p>`,
      `<w:tbl><w:tr>${cell("Name")}${cell("Price")}</w:tr><w:tr>${cell("Bolt")}${cell("5")}</w:tr></w:tbl>`,
      `<w:p>${run("End")}</w:p>`,
    ].join("");
    expect(await read("a.docx", docx(body, styles))).toEqual([
      "# One",
      "## Two",
      "a\tb",
      "=Name =Price",
      "Name=Bolt Price=5",
      "End",
    ]);
  });

  test("DOCX has the names of columns for cells after those that reach over several", async () => {
    const cell = (text: string, span = "") =>
      `<w:tc><w:tcPr>${span}</w:tcPr><w:p>${run(text)}</w:p></w:tc>`;
    const row = (...cells: string[]) => `<w:tr>${cells.join("")}</w:tr>`;
    const table = [
      row(cell("Name"), cell("Price"), cell("Stock")),
      row(cell("all", '<w:gridSpan w:val="2"/>'), cell("9")),
      row('<w:trPr><w:gridBefore w:val="1"/></w:trPr>', cell("5"), cell("8")),
    ];
    expect(await read("a.docx", docx(`<w:tbl>${table.join("")}</w:tbl>`))).toEqual([
      "=Name =Price =Stock",
      "Name=all Stock=9",
      "Price=5 Stock=8",
    ]);
  });

  test("a Word document has its text in a part of any number, with the styles of today", async () => {
    const old = `<w:pPrChange><w:pPr><w:pStyle w:val="H"/></w:pPr></w:pPrChange>`;
    const styles = `<w:style w:styleId="H"><w:name w:val="heading 1"/></w:style>`;
    const bytes = zipSync({
      "word/document2.xml": strToU8(wordXml(`<w:p><w:pPr>${old}</w:pPr>${run("Text")}</w:p>`)),
      "word/styles.xml": strToU8(`<w:styles xmlns:w="w">${styles}</w:styles>`),
    });
    expect(await read("a.docx", bytes)).toEqual(["Text"]);
  });

  test("ODT has headings, tables and spaces", async () => {
    const cell = (text: string) => `<table:table-cell><text:p>${text}</text:p></table:table-cell>`;
    const body = `<text:h text:outline-level="2">Head</text:h><text:p>a<text:s text:c="3"/>b<text:line-break/>c</text:p><table:table><table:table-row>${cell("Name")}${cell("Price")}</table:table-row><table:table-row>${cell("Bolt")}${cell("5")}</table:table-row></table:table>`;
    expect(await read("a.odt", odt(body))).toEqual([
      "## Head",
      "a   b\nc",
      "=Name =Price",
      "Name=Bolt Price=5",
    ]);
  });

  test("PPTX has its slides as pages, in their order", async () => {
    const blocks = await stage.read("a.pptx", pptx(["first", "second"]));
    expect(blocks).toEqual([
      { kind: "heading", level: 1, page: 1, text: "Title" },
      { kind: "paragraph", page: 1, text: "first" },
      { kind: "heading", level: 1, page: 2, text: "Title" },
      { kind: "paragraph", page: 2, text: "second" },
    ]);
  });

  test("PDF has its pages, and its ligatures as letters", async () => {
    expect(await stage.read("a.pdf", pdf(["ﬁrst page", "second page"]))).toEqual([
      { kind: "paragraph", page: 1, text: "first page" },
      { kind: "paragraph", page: 2, text: "second page" },
    ]);
  });

  test("a PDF may begin after some other bytes, and a text may name its mark", async () => {
    const text = "A file of this format begins with %PDF- and its version.";
    expect(await read("a.txt", text)).toEqual([text]);
    const bytes = pdf(["page"]);
    for (const [name, before] of [
      ["a.pdf", "HTTP/1.1 200 OK\n\n"],
      ["a.bin", "\ufeff\n"],
      ["a.bin", "\0\x01\x02"],
    ] as const) {
      const file = Buffer.concat([Buffer.from(before), bytes]);
      expect(await stage.read(name, file)).toEqual([{ kind: "paragraph", page: 1, text: "page" }]);
    }
  });

  test.each(["xlsx", "ods", "biff8", "xlsb"] as const)(
    "a workbook in %s has its sheets, headers and shown values",
    async (bookType) => {
      const book = utils.book_new();
      const sheet = utils.aoa_to_sheet([
        ["Report"],
        [],
        ["Name", "Since", "Price"],
        ["Bolt", new Date(Date.UTC(2024, 4, 17)), 5.5],
      ]);
      utils.book_append_sheet(book, sheet, "Stöck");
      utils.book_append_sheet(book, utils.aoa_to_sheet([["only"]]), "Second");
      const blocks = await stage.read("a.bin", write(book, { type: "buffer", bookType }) as Buffer);
      expect(blocks.map((block) => [block.sheet, ...brief([block])])).toEqual([
        ["Stöck", "=Report"],
        ["Stöck", "=Name =Since =Price"],
        ["Stöck", expect.stringMatching(/^Name=Bolt Since=\S*(2024|24)\S* Price=5\.5$/)],
        ["Second", "=only"],
      ]);
    },
  );

  test.each(["xlsx", "biff8", "xlsb"] as const)(
    "a workbook in %s keeps the digits of long numbers, and the order of a date",
    async (bookType) => {
      const sheet = utils.aoa_to_sheet([
        ["Code", "Since", "Rate"],
        [4006381333931, { t: "n", v: 45413, z: "m/d/yy" }, { t: "n", v: 12_345, z: "0.0E+00" }],
      ]);
      const book = { SheetNames: ["Sheet"], Sheets: { Sheet: sheet } };
      const bytes = write(book, { type: "buffer", bookType }) as Buffer;
      expect(await read("a.bin", bytes)).toEqual([
        "=Code =Since =Rate",
        "Code=4006381333931 Since=2024-05-01 Rate=1.2E+04",
      ]);
    },
  );
});
