import { describe, expect, it } from "vitest";
import { SseReader } from "../../../src/lib/http/sse-reader.ts";

interface Read {
  readonly events: (readonly [data: string, name: string | undefined])[];
  tooLong: number;
}

function read(pieces: Iterable<Uint8Array>, maxEventLength = 1000): Read {
  const result: Read = { events: [], tooLong: 0 };
  const reader = new SseReader(maxEventLength, {
    onEvent: (data, name) => result.events.push([data, name]),
    onTooLong: () => result.tooLong++,
  });
  for (const piece of pieces) reader.read(piece);
  reader.end();
  return result;
}

const encode = (text: string) => new TextEncoder().encode(text);

/** Whole, and cut in two at every byte, and byte by byte. */
function* waysToSplit(text: string): Iterable<readonly Uint8Array[]> {
  const bytes = encode(text);
  for (let at = 0; at <= bytes.length; at++) yield [bytes.subarray(0, at), bytes.subarray(at)];
  yield Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
}

describe("S02: server-sent events", () => {
  it.each([
    ["an event", "data: a\n\n", ["a"]],
    ["several lines of data", "data: a\ndata:\ndata: b\n\n", ["a\n\nb"]],
    ["no space after the colon", "data:a\n\ndata:  b\n\n", ["a", " b"]],
    ["no colon at all", "data\ndata: a\n\n", ["\na"]],
    ["comments", ": one\n\n:two\ndata: a\n: three\n\n", ["a"]],
    ["id, retry and unknown fields", "id: 1\nretry: 10\nfoo: bar\nretry: x\ndata: a\n\n", ["a"]],
    ["empty lines between events", "\n\n\ndata: a\n\n\n\ndata: b\n\n", ["a", "b"]],
    ["no empty line after the last event", "data: a\n\ndata: b\n", ["a", "b"]],
    ["no line end after the last event", "data: a\n\ndata: b", ["a", "b"]],
    ["characters of several bytes", "data: ü日👩‍👩‍👧\u2028\n\n", ["ü日👩‍👩‍👧\u2028"]],
    ["a byte order mark", "\ufeffdata: a\n\n", ["a"]],
    ["nothing", "", []],
    ["nothing but a page", "<html>\n<p>data: a</p>\n\n</html>", []],
  ])("%s, with any line end and split anywhere", (_what, text, expected) => {
    for (const lineEnd of ["\n", "\r", "\r\n"]) {
      for (const pieces of waysToSplit(text.replaceAll("\n", lineEnd))) {
        expect(read(pieces).events.map(([data]) => data)).toEqual(expected);
      }
    }
  });

  it("line ends may be mixed within a stream", () => {
    for (const pieces of waysToSplit("data: a\r\n\ndata: b\rdata: c\n\r\n\rdata: d\r\r")) {
      expect(read(pieces).events.map(([data]) => data)).toEqual(["a", "b\nc", "d"]);
    }
  });

  it("may have a name, which ends with the event", () => {
    for (const pieces of waysToSplit("event: error\ndata: a\n\ndata: b\n\n")) {
      expect(read(pieces).events).toEqual([
        ["a", "error"],
        ["b", undefined],
      ]);
    }
  });

  it("over the limit end the reading, whole or never ending", () => {
    const long = `data: ${"x".repeat(50)}`;
    for (const text of [`${long}\n\ndata: b\n\n`, long, `data: x\n`.repeat(50)]) {
      for (const pieces of waysToSplit(`data: a\n\n${text}`)) {
        expect(read(pieces, 40)).toEqual({ events: [["a", undefined]], tooLong: 1 });
      }
    }
  });

  it("of any number may come under the limit", () => {
    const text = `data: ${"x".repeat(30)}\n\n`.repeat(100);
    for (const size of [1, 7, 100, text.length]) {
      const bytes = encode(text);
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      );
      expect(read(pieces, 40)).toMatchObject({ tooLong: 0, events: { length: 100 } });
    }
  });
});

describe("a shortcut", () => {
  it("is offered the text at the beginning of an event only, and the rest goes on from where it stopped", () => {
    const known = "data: known\n\n";
    const text = `${known}${known}data: a\n\n${known}data: b\r\n\r\n${known}: c\n\n${known}`;
    for (const pieces of waysToSplit(text)) {
      const seen: string[] = [];
      const reader = new SseReader(1000, {
        onEvent: (data) => seen.push(data),
        onTooLong: () => seen.push("too long"),
        shortcut: {
          isActive: true,
          take(offered, start) {
            let position = start;
            while (offered.startsWith(known, position)) {
              seen.push("known");
              position += known.length;
            }
            return position;
          },
        },
      });
      for (const piece of pieces) reader.read(piece);
      reader.end();
      expect(seen).toEqual(["known", "known", "a", "known", "b", "known", "known"]);
    }
  });
});
