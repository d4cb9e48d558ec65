import { crc32 } from "node:zlib";
import {
  JSON_OFFSET,
  KIND_OFFSET,
  LENGTH_BYTES,
  MAX_RECORD_BYTES,
  RECORD_KIND,
  type RecordKind,
} from "./record-format.ts";

export interface JournalRecord {
  readonly kind: RecordKind;
  /** Offsets of the record's first byte and of its end within the scanned bytes. */
  readonly offset: number;
  readonly end: number;
}

export interface Scan {
  readonly records: readonly JournalRecord[];
  /** Size of the whole, sound records. */
  readonly soundBytes: number;
  /**
   * The bytes after them: nothing; the beginning of a record, whose rest may follow; or bytes that are not a record.
   */
  readonly rest: "nothing" | "cut" | "damaged";
}

/** Reads records from the front of `bytes` up to the first that is cut or damaged. */
export function scanRecords(bytes: Buffer): Scan {
  const records: JournalRecord[] = [];
  let offset = 0;
  while (offset < bytes.length) {
    const size = sizeOf(bytes, offset);
    if (size === undefined) return { records, soundBytes: offset, rest: "damaged" };
    if (offset + size > bytes.length) return { records, soundBytes: offset, rest: "cut" };
    const kind = soundKind(bytes, offset, size);
    if (kind === undefined) return { records, soundBytes: offset, rest: "damaged" };
    records.push({ kind, offset, end: offset + size });
    offset += size;
  }
  return { records, soundBytes: offset, rest: "nothing" };
}

/** Returns the size that the record at `offset` claims; undefined for a size that no record can have. */
function sizeOf(bytes: Buffer, offset: number): number | undefined {
  if (offset + JSON_OFFSET > bytes.length) return JSON_OFFSET;
  const size = KIND_OFFSET + bytes.readUInt32LE(offset);
  return size > JSON_OFFSET && size <= MAX_RECORD_BYTES ? size : undefined;
}

function soundKind(bytes: Buffer, offset: number, size: number): RecordKind | undefined {
  const checksum = bytes.readUInt32LE(offset + LENGTH_BYTES);
  if (checksum !== crc32(bytes.subarray(offset + KIND_OFFSET, offset + size))) return undefined;
  return kindOf(bytes[offset + KIND_OFFSET]);
}

function kindOf(byte: number | undefined): RecordKind | undefined {
  switch (byte) {
    case RECORD_KIND.start:
      return "start";
    case RECORD_KIND.progress:
      return "progress";
    case RECORD_KIND.end:
      return "end";
    default:
      return undefined;
  }
}

export function recordJson(bytes: Buffer, record: JournalRecord): string {
  return bytes.toString("utf8", record.offset + JSON_OFFSET, record.end);
}
