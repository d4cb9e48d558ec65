import { readSync } from "node:fs";
import { rm } from "node:fs/promises";
import type { Db } from "../../db/context.ts";
import { toDatabaseError } from "../../db/database-error.ts";
import type { Log } from "../../lib/log.ts";
import { within } from "../../lib/time/within.ts";
import type { UsageRecord } from "../usage-record.ts";
import type { JournalWriter } from "./journal-writer.ts";
import type { Quarantine } from "./quarantine.ts";
import { recordJson, type Scan, scanRecords } from "./scan-records.ts";
import { CHUNK_BYTES, isDone, readChunk, type Segment } from "./segment.ts";
import { storeRecords } from "./store-records.ts";
import { deleteCheckpoints } from "./usage-store.ts";

/** Records are flushed after this time, or as soon as this many of them wait. */
const FLUSH_INTERVAL_MS = 200;
const FLUSH_RECORDS = 2_000;
/**
 * The pause between two runs on the embedded database while as many records come. It works on the processor that calls
 * need, and fewer, larger statements take less of it. Every record is stored within seconds all the same.
 */
const YIELDING_INTERVAL_MS = 1_000;
/** From as many records in one run calls are busy. */
const BUSY_RECORDS = 500;
const BACKOFF_MAX_MS = 2_000;
/** A statement that hangs longer is retried; it inserts nothing twice. */
const STORE_TIMEOUT_MS = 60_000;

export interface FlusherOptions {
  readonly writer: JournalWriter;
  readonly db: Db;
  /** The database works on the processor of the calls, so it gives way to them. */
  readonly yields?: boolean | undefined;
  readonly quarantine: Quarantine;
  readonly log: Log;
}

/**
 * Moves finished records from the segments to the database, and deletes segments that are no longer needed. It reads
 * the records from the files, so an unavailable database costs disk space and no memory.
 */
export class Flusher {
  readonly #options: FlusherOptions;
  readonly #chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  #flushedUntil = 0;
  #unflushed = 0;
  #oldestEndedAt: number | undefined;
  #running: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #failure: unknown;
  #isAwake = false;
  /** The last run stored many records, and more are expected. */
  #isBusy = false;
  #isStopped = false;

  constructor(options: FlusherOptions) {
    this.#options = options;
  }

  /** Finished records that the database does not have yet. */
  get unflushedRecords(): number {
    return this.#unflushed;
  }

  /** When the oldest of them ended, in Unix milliseconds. */
  get oldestEndedAt(): number | undefined {
    return this.#oldestEndedAt;
  }

  /** Notes that an end record was written to `segment`. */
  noteEnd(segment: Segment, endedAt: number): void {
    segment.unflushedEnds += 1;
    this.#unflushed += 1;
    if (this.#unflushed === 1) this.#oldestEndedAt = endedAt;
    this.wake();
  }

  /** Schedules a run soon, because there may be something to flush or to delete. */
  wake(): void {
    this.#isAwake = true;
    if (this.#running !== undefined || this.#isStopped) return;
    const isDue = this.#unflushed >= FLUSH_RECORDS && !this.#isYielding;
    if (isDue && this.#failures === 0) void this.#start();
    else if (this.#timer === undefined) {
      this.#timer = setTimeout(() => void this.#start(), this.#delayMs());
      this.#timer.unref();
    }
  }

  /** Resolves when the database has everything appended so far; rejects when it is unavailable. */
  async flush(): Promise<void> {
    this.#options.writer.writePending();
    const until = this.#options.writer.position;
    do {
      await this.#start();
      if (this.#failures > 0) throw this.#failure;
    } while (this.#flushedUntil < until);
  }

  /** Schedules no further flush. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  get #isYielding(): boolean {
    return this.#isBusy && this.#options.yields === true;
  }

  #delayMs(): number {
    if (this.#failures === 0) return this.#isYielding ? YIELDING_INTERVAL_MS : FLUSH_INTERVAL_MS;
    return Math.min(BACKOFF_MAX_MS, FLUSH_INTERVAL_MS * 2 ** this.#failures);
  }

  /** Never rejects; runs one flush at a time. */
  #start(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#running === undefined) {
      this.#isAwake = false;
      this.#running = this.#run().finally(() => {
        this.#running = undefined;
        if (this.#isAwake || this.#failures > 0) this.wake();
      });
    }
    return this.#running;
  }

  async #run(): Promise<void> {
    try {
      // Records appended during this run wait for the next one, so a steady flow is stored in batches.
      const until = this.#options.writer.position;
      this.#isBusy = this.#unflushed >= BUSY_RECORDS;
      while (this.#flushedUntil < until) await this.#flushChunk();
      await this.#deleteDone();
      if (this.#failures > 0) this.#options.log.info("usage is written to the database again");
      this.#failures = 0;
    } catch (thrown) {
      this.#failure = thrown;
      this.#failures += 1;
      if (this.#failures > 1) return;
      const cause = toDatabaseError(thrown).message;
      this.#options.log.warn(
        { cause },
        "usage cannot be written to the database; it stays in the journal",
      );
    }
  }

  async #flushChunk(): Promise<void> {
    const { writer } = this.#options;
    const segment = writer.segments.find((kept) => kept.from + kept.bytes > this.#flushedUntil);
    if (segment === undefined) throw new Error("a segment of the usage journal is gone");
    const offset = this.#flushedUntil - segment.from;
    const length = Math.min(CHUNK_BYTES, segment.bytes - offset);
    const bytes = await readSegment(segment, offset, this.#chunk.subarray(0, length));
    if (bytes === undefined) {
      this.#skipRest(segment);
      return;
    }
    const scan = scanRecords(bytes);
    const ends = endsIn(bytes, scan);
    if (ends.length > 0) {
      const { journal, number } = segment;
      const checkpoint = { journal, segment: number, byteOffset: offset + scan.soundBytes };
      await within(
        storeRecords(this.#options, ends, checkpoint),
        STORE_TIMEOUT_MS,
        () => new Error("the database hangs"),
      );
    }
    this.#flushedUntil += scan.soundBytes;
    this.#noteStored(segment, ends);
    if (scan.rest === "damaged" || scan.soundBytes === 0) await this.#skipDamage(segment);
  }

  #noteStored(segment: Segment, ends: readonly string[]): void {
    segment.unflushedEnds -= ends.length;
    this.#unflushed -= ends.length;
    const last = ends.at(-1);
    if (this.#unflushed === 0) this.#oldestEndedAt = undefined;
    else if (last !== undefined) {
      // Every record that still waits was appended after the last one stored.
      const { startedAt, latencyMs } = JSON.parse(last) as UsageRecord;
      this.#oldestEndedAt = startedAt + latencyMs;
    }
  }

  /** The file was damaged while in use: unreadable bytes are quarantined, and the records after them are processed. */
  async #skipDamage(segment: Segment): Promise<void> {
    const { journal, number } = segment;
    const byteOffset = this.#flushedUntil - segment.from;
    const rest = Buffer.alloc(segment.bytes - byteOffset);
    const bytes = await readSegment(segment, byteOffset, rest);
    if (bytes !== undefined) {
      const damage = { journal, segment: number, byteOffset, bytes };
      await this.#options.quarantine.keepDamaged(damage);
    }
    this.#skipRest(segment);
  }

  #skipRest(segment: Segment): void {
    this.#flushedUntil = segment.from + segment.bytes;
    this.#unflushed -= segment.unflushedEnds;
    segment.unflushedEnds = 0;
    if (this.#unflushed === 0) this.#oldestEndedAt = undefined;
  }

  async #deleteDone(): Promise<void> {
    const { db, writer } = this.#options;
    for (const segment of writer.segments) {
      if (!isDone(segment, this.#flushedUntil)) continue;
      // The file of a lost segment is left to its new owner to delete.
      if (!segment.isLost) await rm(segment.path, { force: true });
      writer.drop(segment);
      await deleteCheckpoints(db, segment.journal, segment.number);
    }
  }
}

function endsIn(bytes: Buffer, scan: Scan): string[] {
  return scan.records
    .filter((record) => record.kind === "end")
    .map((record) => recordJson(bytes, record));
}

/**
 * Reads from a segment. The current segment is read through its open file, synchronously, because its bytes are in
 * memory. Older segments may have left the page cache and are read asynchronously. Undefined when another process has
 * removed the file, which it does once the database has all of it.
 */
async function readSegment(
  segment: Segment,
  offset: number,
  target: Buffer,
): Promise<Buffer | undefined> {
  if (segment.file !== undefined) {
    return target.subarray(0, readSync(segment.file, target, 0, target.length, offset));
  }
  try {
    return await readChunk(segment.path, offset, target);
  } catch (thrown) {
    const isGone = thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT";
    if (isGone && segment.isLost) return undefined;
    throw thrown;
  }
}
