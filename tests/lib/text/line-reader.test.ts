import { describe, expect, it } from "vitest";
import { LineReader } from "../../../src/lib/text/line-reader.ts";

const encoder = new TextEncoder();

function read(text: string, size: number, maxLineBytes = 1000) {
  const reader = new LineReader(maxLineBytes);
  const bytes = encoder.encode(text);
  const lines: string[] = [];
  for (let start = 0; start < bytes.length; start += size) {
    lines.push(...reader.read(bytes.subarray(start, start + size)));
  }
  lines.push(...reader.end());
  return { lines, tooLong: reader.tooLong };
}

const SIZES = [1, 2, 3, 5, 1000];

describe.each(SIZES)("pieces of %i bytes", (size) => {
  it("are put together to lines, whatever ends them", () => {
    const text = "\uFEFFa👩‍👩‍👧\nb é\r\nc\u2028c\r\r\n\n日本\r";
    const lines = ["a👩‍👩‍👧", "b é", "c\u2028c", "日本"];
    expect(read(text, size)).toEqual({ lines, tooLong: false });
    expect(read(`${text}rest 🌤️`, size).lines).toEqual([...lines, "rest 🌤️"]);
    expect(read("", size).lines).toEqual([]);
  });

  it("may add up to the limit, counted in bytes, and not beyond", () => {
    const line = "日本語";
    const text = `a\n${line}\nb\n`;
    expect(read(text, size, 9)).toEqual({ lines: ["a", line, "b"], tooLong: false });
    expect(read(text, size, 8)).toEqual({ lines: ["a"], tooLong: true });
    expect(read(`a\n${line}`, size, 8)).toEqual({ lines: ["a"], tooLong: true });
  });
});

it("replaces bytes that are no UTF-8, and keeps the lines apart", () => {
  const reader = new LineReader(100);
  expect(reader.read(Uint8Array.of(0x61, 0xff, 0x0a, 0xe6, 0x0a))).toEqual(["a\uFFFD", "\uFFFD"]);
  expect(reader.read(Uint8Array.of(0x62, 0xe6))).toEqual([]);
  expect(reader.end()).toEqual(["b\uFFFD"]);
});

it("reads a long line in small pieces without going over it again and again", () => {
  const reader = new LineReader(4_000_000);
  const piece = encoder.encode("x".repeat(100));
  for (let count = 0; count < 30_000; count++) reader.read(piece);
  const [line] = reader.read(encoder.encode("\n"));
  expect(line?.length).toBe(3_000_000);
});
