import { describe, expect, it } from "vitest";
import {
  encodeRecord,
  MAX_RECORD_BYTES,
  type RecordKind,
} from "../../../src/usage/journal/record-format.ts";
import { recordJson, scanRecords } from "../../../src/usage/journal/scan-records.ts";

function encode(kind: RecordKind, json: string): Buffer {
  const target = Buffer.alloc(MAX_RECORD_BYTES);
  return target.subarray(0, encodeRecord(kind, json, target));
}

const contents = [
  ["start", '{"id":"a","model":"modèle ☃ 🙂"}'],
  ["progress", '{"id":"a","outputTokens":5}'],
  ["end", '{"id":"a"}'],
] as const;
const encoded = contents.map(([kind, json]) => encode(kind, json));
const whole = Buffer.concat(encoded);

/** How many records lie whole before the byte at `position`. */
function recordsBefore(position: number): number {
  let end = 0;
  return encoded.filter((record) => {
    end += record.length;
    return end <= position;
  }).length;
}

describe("records of the journal", () => {
  it("are read back as they were written", () => {
    const scan = scanRecords(whole);
    expect(scan).toMatchObject({ soundBytes: whole.length, rest: "nothing" });
    const read = scan.records.map((record) => [record.kind, recordJson(whole, record)]);
    expect(read).toEqual(contents);
  });

  it("are length, checksum, kind and JSON, numbers little-endian, so that a later release reads them", () => {
    expect(encode("end", "{}").toString("hex")).toBe("03000000f7ca781f037b7d");
  });

  it("are read up to any cut", () => {
    for (let length = 0; length < whole.length; length += 1) {
      const scan = scanRecords(whole.subarray(0, length));
      expect(scan.records).toHaveLength(recordsBefore(length));
      expect(scan.rest).toBe(scan.soundBytes === length ? "nothing" : "cut");
    }
  });

  it("are read up to the one that holds any flipped bit", () => {
    for (let bit = 0; bit < whole.length * 8; bit += 1) {
      const spoilt = Buffer.from(whole);
      const position = bit >> 3;
      spoilt.writeUInt8(spoilt.readUInt8(position) ^ (1 << (bit & 7)), position);
      const scan = scanRecords(spoilt);
      expect(scan.records).toHaveLength(recordsBefore(position));
      expect(scan.rest).not.toBe("nothing");
    }
  });

  it("are not seen in zeros, as a loss of power leaves them", () => {
    const scan = scanRecords(Buffer.concat([whole, Buffer.alloc(4_096)]));
    expect(scan).toMatchObject({ soundBytes: whole.length, rest: "damaged" });
  });

  it("are never larger than what is read at one go", () => {
    expect(() => encode("end", "x".repeat(MAX_RECORD_BYTES))).toThrow(RangeError);
    expect(() => encode("end", "☃".repeat(MAX_RECORD_BYTES / 3))).toThrow(RangeError);
  });
});
