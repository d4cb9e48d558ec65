import { describe, expect, it } from "vitest";
import {
  HttpResponseReader,
  MalformedResponse,
} from "../../../../src/lib/http/bun/http-response-reader.ts";
import { createRandom } from "../../../support/faults/random.ts";

interface Answer {
  readonly status: number | undefined;
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly isComplete: boolean;
  readonly leavesConnectionOpen: boolean;
}

function read(pieces: readonly Uint8Array[], isClosed = false): Answer {
  const reader = new HttpResponseReader();
  const body: Buffer[] = [];
  for (const piece of pieces) {
    // The reader may write over what it is given.
    const found = reader.read(Buffer.from(piece));
    if (found !== undefined) body.push(Buffer.from(found));
  }
  if (isClosed) reader.end();
  return {
    status: reader.head?.status,
    headers: Object.fromEntries(reader.head?.headers ?? []),
    body: Buffer.concat(body).toString(),
    isComplete: reader.isComplete,
    leavesConnectionOpen: reader.leavesConnectionOpen,
  };
}

/** Whole, cut in two at every byte, byte by byte. */
function* waysToSplit(text: string): Iterable<readonly Uint8Array[]> {
  const bytes = Buffer.from(text);
  yield [bytes];
  for (let at = 1; at < bytes.length; at += 1) yield [bytes.subarray(0, at), bytes.subarray(at)];
  yield Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
}

const OK = "HTTP/1.1 200 OK\r\n";
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;

describe("An HTTP/1.1 answer, split anywhere", () => {
  it.each<[string, string, Partial<Answer>]>([
    [
      "with a length",
      `${OK}Content-Type: text/plain\r\nCONTENT-LENGTH:  6 \r\n\r\nhällo`,
      {
        headers: { "content-type": "text/plain", "content-length": "6" },
        body: "hällo",
        leavesConnectionOpen: true,
      },
    ],
    ["with no body", `${OK}content-length: 0\r\n\r\n`, { body: "", leavesConnectionOpen: true }],
    ["in one chunk", `${CHUNKED}5\r\nhello\r\n0\r\n\r\n`, { body: "hello" }],
    [
      "in chunks",
      `${CHUNKED}1\r\nh\r\n00e\r\näöü, world!\r\nA\r\n0123456789\r\n0\r\n\r\n`,
      { body: "häöü, world!0123456789", leavesConnectionOpen: true },
    ],
    [
      "in chunks with many zeros before their sizes",
      `${CHUNKED}0000000000000002\r\nab\r\n${"0".repeat(40)}\r\n\r\n`,
      { body: "ab", leavesConnectionOpen: true },
    ],
    [
      "in chunks with extensions, and trailers",
      `${CHUNKED}3;a=b\r\nabc\r\n1 \t;x\r\nd\r\n0;last\r\nChecksum: 1\r\nOther: 2\r\n\r\n`,
      { body: "abcd", leavesConnectionOpen: true },
    ],
    ["with bare line feeds", "HTTP/1.1 200 OK\ncontent-length: 2\n\nab", { body: "ab" }],
    ["with chunks and bare line feeds", `${CHUNKED}2\nab\n0\n\n`, { body: "ab" }],
    ["without words for its status", "HTTP/1.1 404\r\ncontent-length: 1\r\n\r\nx", { status: 404 }],
    ["of a status without a body", "HTTP/1.1 204 No Content\r\n\r\n", { status: 204, body: "" }],
    [
      "after others that only announce it",
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${OK}content-length: 1\r\n\r\na`,
      { headers: { "content-length": "1" }, body: "a" },
    ],
    [
      "with a header twice",
      `${OK}x: 1\r\nX: 2\r\ny:\r\ncontent-length: 0\r\n\r\n`,
      { headers: { x: "1", y: "", "content-length": "0" } },
    ],
    [
      "in HTTP/1.0",
      "HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\na",
      { body: "a", leavesConnectionOpen: false },
    ],
    [
      "in HTTP/1.0, kept",
      "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\ncontent-length: 1\r\n\r\na",
      { leavesConnectionOpen: true },
    ],
    [
      "that closes the connection",
      `${OK}connection: Close\r\ncontent-length: 1\r\n\r\na`,
      { body: "a", leavesConnectionOpen: false },
    ],
    [
      "with a length beside chunks",
      `${OK}content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n`,
      { body: "a", leavesConnectionOpen: false },
    ],
    [
      "with a length, as it is",
      `${OK}transfer-encoding: identity\r\ncontent-length: 1\r\n\r\na`,
      { body: "a", leavesConnectionOpen: true },
    ],
    [
      "told to be in chunks twice",
      `${OK}Transfer-Encoding: Chunked\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n`,
      { body: "a", leavesConnectionOpen: true },
    ],
    [
      "with more than it told",
      `${OK}content-length: 1\r\n\r\nab`,
      { body: "a", leavesConnectionOpen: false },
    ],
  ])("%s", (_, text, expected) => {
    for (const pieces of waysToSplit(text)) {
      expect(read(pieces)).toMatchObject({ status: 200, isComplete: true, ...expected });
    }
  });

  it("ends with the connection where no length is told", () => {
    for (const head of [`${OK}\r\n`, `${OK}Transfer-Encoding: identity\r\n\r\n`]) {
      for (const pieces of waysToSplit(`${head}all of it`)) {
        expect(read(pieces)).toMatchObject({ body: "all of it", isComplete: false });
        const closed = read(pieces, true);
        expect([closed.isComplete, closed.leavesConnectionOpen]).toEqual([true, false]);
      }
    }
  });

  it.each([
    ["nothing", ""],
    ["a part of its head", `${OK}content-length: 1\r\n`],
    ["a part of its body", `${OK}content-length: 2\r\n\r\na`],
    ["a chunk without its end", `${CHUNKED}2\r\nab`],
    ["no last chunk", `${CHUNKED}2\r\nab\r\n`],
    ["no end of its trailers", `${CHUNKED}0\r\n`],
  ])("is not complete when the connection ends after %s", (_, text) => {
    for (const pieces of waysToSplit(text)) expect(read(pieces, true).isComplete).toBe(false);
  });

  it.each([
    ["another protocol", "SSH-2.0-OpenSSH_9.2\r\n"],
    ["another version", "HTTP/2 200 OK\r\n"],
    ["a status below all", "HTTP/1.1 099 OK\r\n"],
    ["a status that is none", "HTTP/1.1 20 OK\r\n"],
    ["an upgrade", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"],
    ["a line that is no header", `${OK}no colon\r\n`],
    ["a space before the colon", `${OK}content-length : 1\r\n`],
    ["a folded header", `${OK}a: 1\r\n  more\r\n`],
    ["a negative length", `${OK}content-length: -1\r\n\r\n`],
    ["two lengths", `${OK}content-length: 1\r\ncontent-length: 2\r\n\r\n`],
    ["a length in hex", `${OK}content-length: 0x10\r\n\r\n`],
    ["a coding that was not asked for", `${OK}transfer-encoding: gzip\r\n\r\n`],
    ["another coding within chunks", `${OK}transfer-encoding: gzip, chunked\r\n\r\n`],
    ["another coding around chunks", `${OK}transfer-encoding: chunked, gzip\r\n\r\n`],
    ["a coding of a like name", `${OK}transfer-encoding: xchunked\r\n\r\n`],
    ["a chunk without a size", `${CHUNKED}\r\n`],
    ["a size that is none", `${CHUNKED}5g\r\n`],
    ["a size beyond all measure", `${CHUNKED}fffffffffffff\r\n`],
    ["a negative size", `${CHUNKED}-1\r\n`],
    ["a chunk that is longer than its size", `${CHUNKED}1\r\nab\r\n`],
    ["a head without end", `${OK}a: ${"x".repeat(70_000)}`],
    ["headers without end", OK + "a: 1\r\n".repeat(20_000)],
    ["trailers without end", `${CHUNKED}0\r\n${"a: 1\r\n".repeat(20_000)}`],
  ])("is refused with %s", (_, text) => {
    expect(() => read([Buffer.from(text)])).toThrow(MalformedResponse);
    const bytes = Buffer.from(text);
    expect(() => read([bytes.subarray(0, 30), bytes.subarray(30)])).toThrow(MalformedResponse);
  });

  it("brings thousands of chunks of all sizes as they were, cut at random", () => {
    const random = createRandom(1);
    const below = (end: number) => Math.floor(random() * end);
    const chunks = Array.from({ length: 3_000 }, () => Buffer.alloc(1 + below(300), below(256)));
    const wire = Buffer.concat([
      Buffer.from(CHUNKED),
      ...chunks.flatMap((chunk) => [
        Buffer.from(`${chunk.length.toString(16)}\r\n`),
        chunk,
        Buffer.from("\r\n"),
      ]),
      Buffer.from("0\r\n\r\n"),
    ]);
    const reader = new HttpResponseReader();
    const found: Buffer[] = [];
    for (let at = 0; at < wire.length; ) {
      const end = at + 1 + below(900);
      const part = reader.read(Buffer.from(wire.subarray(at, end)));
      if (part !== undefined) found.push(Buffer.from(part));
      at = end;
    }
    expect(Buffer.concat(found).equals(Buffer.concat(chunks))).toBe(true);
    expect(reader.leavesConnectionOpen).toBe(true);
  });
});
