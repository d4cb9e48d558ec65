import { openSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";

/** Size limit; records that no longer fit go to a new segment. */
export const SEGMENT_BYTES = 8 * 1024 * 1024;

const NAME = /^(\d{8})\.segment$/;

/** One file of a journal that this process writes. Positions count all bytes that this process has journaled. */
export interface Segment {
  /** The journal it belongs to. */
  readonly journal: string;
  /** From 1. */
  readonly number: number;
  readonly path: string;
  /** Position of the segment's first byte. */
  readonly from: number;
  /** Bytes of whole records; anything after them in the file does not count. */
  bytes: number;
  /** The open file while records are appended; undefined once the segment is sealed. */
  file: number | undefined;
  /**
   * Another process has taken the journal, stores its records and removes it. Nothing more is appended; an open file is
   * still read.
   */
  isLost: boolean;
  /** Calls whose start is in this segment and whose end is not recorded yet. */
  openCalls: number;
  /** End records in this segment that the database does not have yet. */
  unflushedEnds: number;
  /** The segment may be deleted once the database has everything up to this position. */
  neededUntil: number;
}

export function segmentName(number: number): string {
  return `${String(number).padStart(8, "0")}.segment`;
}

/** Returns the number of a segment's file; undefined for any other file. */
export function segmentNumber(name: string): number | undefined {
  const digits = NAME.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** Creates the segment's file, which must not exist. `from` is the position of its first byte. */
export function createSegment(
  folder: { readonly name: string; readonly path: string },
  number: number,
  from: number,
): Segment {
  const path = join(folder.path, segmentName(number));
  return {
    journal: folder.name,
    number,
    path,
    from,
    bytes: 0,
    file: openSync(path, "wx+", 0o600),
    isLost: false,
    openCalls: 0,
    unflushedEnds: 0,
    neededUntil: from,
  };
}

/** Returns true when the segment is no longer needed, given the position up to which the database has everything. */
export function isDone(segment: Segment, flushedUntil: number): boolean {
  if (flushedUntil < segment.from + segment.bytes) return false;
  if (segment.isLost) return true;
  return (
    segment.file === undefined && segment.openCalls === 0 && flushedUntil >= segment.neededUntil
  );
}

/**
 * Bytes per read, and with it the records of one statement: some 2,500. A statement costs as much as hundreds of records,
 * because it updates the sums.
 */
export const CHUNK_BYTES = 1024 * 1024;

/**
 * Reads up to `length` bytes from `offset` of the file at `path`; fewer at its end. Returns the filled part of
 * `target`.
 */
export async function readChunk(path: string, offset: number, target: Buffer): Promise<Buffer> {
  const file = await open(path, "r");
  try {
    const { bytesRead } = await file.read(target, 0, target.length, offset);
    return target.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
