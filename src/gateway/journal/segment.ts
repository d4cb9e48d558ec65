import { openSync } from "node:fs";
import { join } from "node:path";

/** What does not fit into this size any more goes to a new segment. */
export const SEGMENT_BYTES = 8 * 1024 * 1024;

const NAME = /^(\d{8})\.segment$/;

/** One file of a journal that this process writes. Positions count the bytes of the whole journal. */
export interface Segment {
  /** From 1. */
  readonly number: number;
  readonly path: string;
  /** Position of the segment's first byte. */
  readonly from: number;
  /** Bytes of whole records; what stands behind them in the file does not count. */
  bytes: number;
  /** The open file while records are appended; undefined once the segment is sealed. */
  file: number | undefined;
  /** Calls whose start is in this segment and whose end is nowhere yet. */
  openCalls: number;
  /** Ends in this segment that the database has not got. */
  unflushedEnds: number;
  /** The segment may go once the database has everything up to this position. */
  neededUntil: number;
}

export function segmentName(number: number): string {
  return `${String(number).padStart(8, "0")}.segment`;
}

/** The number of a segment's file; undefined for any other file. */
export function segmentNumber(name: string): number | undefined {
  const digits = NAME.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** Makes the segment's file, which must not exist. `from` is its first byte's position in the journal. */
export function createSegment(folder: string, number: number, from: number): Segment {
  const path = join(folder, segmentName(number));
  return {
    number,
    path,
    from,
    bytes: 0,
    file: openSync(path, "wx+", 0o600),
    openCalls: 0,
    unflushedEnds: 0,
    neededUntil: from,
  };
}

/** True when the segment's file can be deleted, given the position up to which the database has everything. */
export function isDone(segment: Segment, flushedUntil: number): boolean {
  return (
    segment.file === undefined &&
    segment.openCalls === 0 &&
    flushedUntil >= Math.max(segment.neededUntil, segment.from + segment.bytes)
  );
}
