import { describe, expect, it } from "vitest";
import { message, text } from "../../../../src/data/port/protocol/fields.ts";
import { MessageReader, ProtocolFault } from "../../../../src/data/port/protocol/message-reader.ts";
import { createRandom } from "../../../support/faults/random.ts";

const MESSAGES = [
  message("Q", text("select 1")),
  message("S"),
  message("P", text("a name"), text("x".repeat(900))),
  message("X"),
];
const STREAM = Buffer.concat(MESSAGES);

/** The messages in hexadecimal digits, each in a line. */
function readAll(chunks: readonly Buffer[]): string {
  const reader = new MessageReader(10_000);
  const read = chunks.flatMap((chunk) => {
    // Bodies are valid only until the next bytes, and the chunk only during the call.
    const lent = Buffer.from(chunk);
    const read = Array.from(reader.read(lent), ({ type, body }) => type + body.toString("hex"));
    lent.fill(0xff);
    return read;
  });
  return read.join("\n");
}

const READ = readAll(MESSAGES);

describe("5 messages of the PostgreSQL protocol", () => {
  it("are the same wherever the stream is cut", () => {
    expect(READ.split("\n")).toHaveLength(MESSAGES.length);
    for (let at = 0; at <= STREAM.length; at += 1) {
      expect(readAll([STREAM.subarray(0, at), STREAM.subarray(at)])).toBe(READ);
    }
    const random = createRandom(7);
    for (let trial = 0; trial < 200; trial += 1) {
      const chunks: Buffer[] = [];
      for (let at = 0; at < STREAM.length; ) {
        const end = at + 1 + Math.floor(random() ** 3 * 500);
        chunks.push(STREAM.subarray(at, end));
        at = end;
      }
      expect(readAll(chunks)).toBe(READ);
    }
  });

  it("can be read on by whoever stopped before the last one", () => {
    const reader = new MessageReader(10_000);
    for (const { type } of reader.read(STREAM)) if (type === "S") break;
    const rest = Array.from(reader.read(message("H")), ({ type }) => type);
    expect(rest).toEqual(["P", "X", "H"]);
  });

  it("end with a fault for a length or a type that cannot be", () => {
    expect(() => readAll([Buffer.from([81, 0, 0, 0, 3])])).toThrow(ProtocolFault);
    expect(() => readAll([Buffer.from([81, 0, 0, 0x40, 0])])).toThrow(ProtocolFault);
    const reader = new MessageReader(10, "Q");
    expect(() => [...reader.read(message("S"))]).toThrow(ProtocolFault);
  });
});
