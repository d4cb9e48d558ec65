import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import iconv from "iconv-lite";
import { afterAll, describe, expect, test } from "vitest";
import { detectEncoding } from "../../../src/knowledge/readers/shared/detect-encoding.ts";

const folder = mkdtempSync(join(tmpdir(), "detect-encoding-"));
const path = join(folder, "file");
afterAll(() => rmSync(folder, { recursive: true }));

async function encodingOf(content: string | Buffer): Promise<string | null> {
  const bytes = Buffer.from(content);
  writeFileSync(path, bytes);
  return detectEncoding(path, bytes.subarray(0, 64 * 1024));
}

describe.each(["utf-16le", "utf-16be"])("%s without a mark is detected", (encoding) => {
  test.each([
    "a",
    "a,b\n1,2\n",
    "Zażółć gęślą jaźń\n",
    "Tiếng Việt có dấu\n",
    "Да\n",
    "имя,город\nИван,Москва\n",
    "Αυτό είναι\n",
    "זה טקסט בעברית\n",
    "هذا نص عربي\n",
    "यह हिंदी में है\n",
    "นี่คือข้อความภาษาไทย\n",
    "이것은 한국어 문장입니다.\n",
    "日本語\n",
    "これはたちつてと\nそしてこれ\n",
    "名前,都市\r\n山田,東京\r\n",
    "水泵,夜间\n1,2\n",
    `${"これは日本語の文章です。ポンプは夜に動きます。カタカナと漢字も含まれています".repeat(20)}\n`,
  ])("in %j", async (text) => {
    expect(await encodingOf(iconv.encode(text, encoding))).toBe(encoding);
  });
});

describe("a stray zero does not make UTF-16 of", () => {
  const ROWS = "2,zz\n".repeat(5_000);
  const western = iconv.encode(`id,name,town\n${"12,Müller,Köln\n".repeat(30)}`, "windows-1252");
  const withZero = (bytes: Buffer, at: number) =>
    Buffer.concat([bytes.subarray(0, at), Buffer.alloc(1), bytes.subarray(at)]);

  test.each([
    ["ASCII, in an even place", "id,a\n1,x\0y\n2,zz\n"],
    ["ASCII, in an odd place", "id,aa\n1,x\0y\n2,zz\n"],
    ["ASCII, at its end", "id,a\n1,x\n2,abc\n\0"],
    ["a long file", `id,a\n1,x\0y\n${ROWS}`],
    ["UTF-8", "id,größe\n1,x\0y\n2,zzß\n"],
    ["UTF-8 of another script", "これは日本語\0の文章です。\n"],
    ["windows-1252", withZero(western, 30)],
    ["windows-1252, in an odd place", withZero(western, 31)],
  ])("%s", async (_what, content) => {
    expect(await encodingOf(content)).toBeNull();
  });
});
