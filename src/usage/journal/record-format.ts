import { crc32 } from "node:zlib";

/**
 * A record is u32 length, u32 CRC-32, u8 kind, JSON in UTF-8; numbers little-endian. The length counts kind
 * and JSON, the checksum covers them.
 */
export const RECORD_KIND = { start: 1, progress: 2, end: 3 } as const;

export type RecordKind = keyof typeof RECORD_KIND;

/** Largest record. Actual records are about 300 bytes; a length beyond the maximum is damage. */
export const MAX_RECORD_BYTES = 64 * 1024;

export const LENGTH_BYTES = 4;
/** Offset of the kind, and the number of bytes that length and checksum do not cover. */
export const KIND_OFFSET = LENGTH_BYTES + 4;
/** Offset of the JSON. */
export const JSON_OFFSET = KIND_OFFSET + 1;

/** Longest JSON that always fits into a record: UTF-8 needs at most three bytes per UTF-16 code unit. */
export const MAX_JSON_LENGTH = Math.floor((MAX_RECORD_BYTES - JSON_OFFSET) / 3);

/** The checksum of the kind byte, from which the JSON's checksum is continued. */
const KIND_CHECKSUM: Record<RecordKind, number> = {
  start: crc32(Uint8Array.of(RECORD_KIND.start)),
  progress: crc32(Uint8Array.of(RECORD_KIND.progress)),
  end: crc32(Uint8Array.of(RECORD_KIND.end)),
};

/**
 * Writes a record to `target` at `offset`, where MAX_RECORD_BYTES must have room, and returns its size in bytes. Throws
 * a RangeError for JSON longer than MAX_JSON_LENGTH.
 */
export function encodeRecord(kind: RecordKind, json: string, target: Buffer, offset = 0): number {
  if (json.length > MAX_JSON_LENGTH) throw new RangeError("a journal record is too large");
  const size = JSON_OFFSET + target.write(json, offset + JSON_OFFSET);
  target.writeUInt32LE(size - KIND_OFFSET, offset);
  target.writeUInt32LE(crc32(json, KIND_CHECKSUM[kind]), offset + LENGTH_BYTES);
  target[offset + KIND_OFFSET] = RECORD_KIND[kind];
  return size;
}
