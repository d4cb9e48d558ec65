import { ftruncateSync, openSync, writeSync } from "node:fs";
import type { Log } from "../../lib/log.ts";
import type { GroupSync } from "./group-sync.ts";
import {
  encodeRecord,
  MAX_JSON_LENGTH,
  MAX_RECORD_BYTES,
  type RecordKind,
} from "./record-format.ts";
import { createSegment, SEGMENT_BYTES, type Segment } from "./segment.ts";

/** How long a disk that refused a record is not tried again. */
const RETRY_INTERVAL_MS = 1_000;
/** The buffer is written before the end of the turn when the next record might not fit. */
const BATCH_BYTES = 256 * 1024;

const REFUSED = Promise.resolve(undefined);

interface Folder {
  readonly name: string;
  readonly path: string;
  /** Kept open to sync the folder's entries. */
  readonly file: number;
}

/**
 * Appends records to the segments of the journal's folder. Records of one turn of the event loop are written together,
 * because a system call costs a busy server far more than the bytes do.
 */
export class JournalWriter {
  #folder: Folder | undefined;
  readonly #sync: GroupSync;
  readonly #log: Log;
  readonly #buffer = Buffer.allocUnsafeSlow(BATCH_BYTES);
  /** Bytes in the buffer. */
  #pendingBytes = 0;
  /** Settles for all records in the buffer; undefined when it is empty. */
  #pending: Promise<Segment | undefined> | undefined;
  #settle: (segment: Segment | undefined) => void = () => undefined;
  /** The newest segment, while records are appended to it. */
  #current: Segment | undefined;
  #segments: readonly Segment[] = [];
  #lastNumber = 0;
  #position = 0;
  #isRefusing = false;
  #isResting = false;
  #isClosed = false;

  /** The writer starts without a folder and refuses until `enter`. */
  constructor(sync: GroupSync, log: Log) {
    this.#sync = sync;
    this.#log = log;
  }

  /** Bytes written so far, over all segments. */
  get position(): number {
    return this.#position;
  }

  /** Segments whose files exist, oldest first. */
  get segments(): readonly Segment[] {
    return this.#segments;
  }

  /** True without a folder, and from the disk's refusal of a record until the next record it accepts. */
  get isRefusing(): boolean {
    return this.#isRefusing || (this.#folder === undefined && !this.#isClosed);
  }

  /** Appends to this folder from now on. Throws when it cannot be opened. */
  enter({ name, path }: Omit<Folder, "file">): void {
    this.#folder = { name, path, file: openSync(path, "r") };
  }

  /** Appends nothing more to the folder, which another process has taken, and refuses until it has a new one. */
  leave(): void {
    for (const segment of this.#segments) segment.isLost = true;
    // The current segment's file stays open, so it can be read even after its name is removed.
    this.#current = undefined;
    this.#closeFolder();
  }

  /**
   * Resolves at the end of this turn of the event loop with the segment that the record is written to. Resolves with
   * undefined when the disk refuses, or the record is too large for a journal. Never rejects or throws.
   */
  append(kind: RecordKind, json: string): Promise<Segment | undefined> {
    if (this.#pendingBytes + MAX_RECORD_BYTES > BATCH_BYTES) this.writePending();
    const isShut = this.#isClosed || this.#isResting || this.#folder === undefined;
    if (isShut || json.length > MAX_JSON_LENGTH) return REFUSED;
    this.#pendingBytes += encodeRecord(kind, json, this.#buffer, this.#pendingBytes);
    this.#pending ??= new Promise((resolve) => {
      this.#settle = resolve;
      setImmediate(() => this.writePending());
    });
    return this.#pending;
  }

  /** Writes the buffer immediately instead of at the end of the turn. */
  writePending(): void {
    if (this.#pending === undefined) return;
    const size = this.#pendingBytes;
    this.#pendingBytes = 0;
    this.#pending = undefined;
    this.#settle(this.#write(size));
  }

  /** Drops a segment that is no longer needed. */
  drop(segment: Segment): void {
    if (segment.file !== undefined) this.#sync.retire(segment.file);
    segment.file = undefined;
    this.#segments = this.#segments.filter((kept) => kept !== segment);
  }

  /** Ends the writing; every later record is refused. */
  close(): void {
    if (this.#isClosed) return;
    this.writePending();
    this.#isClosed = true;
    this.#seal();
    this.#closeFolder();
  }

  #closeFolder(): void {
    if (this.#folder !== undefined) this.#sync.retire(this.#folder.file);
    this.#folder = undefined;
  }

  /**
   * Writes the buffer with one system call and returns the segment; undefined when the disk refuses. After a refusal no
   * part of a record remains, and the disk is not tried again for a while.
   */
  #write(size: number): Segment | undefined {
    const folder = this.#folder;
    if (folder === undefined) return undefined;
    try {
      const segment = this.#writable(folder, size);
      const file = fileOf(segment);
      const written = writeSync(file, this.#buffer, 0, size, segment.bytes);
      if (written !== size) throw new Error(`the disk took ${written} of ${size} bytes`);
      segment.bytes += size;
      this.#position += size;
      this.#sync.mark(file);
      if (this.#isRefusing) this.#recover();
      return segment;
    } catch (thrown) {
      this.#refuse(thrown);
      return undefined;
    }
  }

  #writable(folder: Folder, size: number): Segment {
    const current = this.#current;
    if (current !== undefined && current.bytes + size <= SEGMENT_BYTES) return current;
    this.#seal();
    const segment = createSegment(folder, this.#lastNumber + 1, this.#position);
    this.#lastNumber = segment.number;
    this.#current = segment;
    this.#segments = [...this.#segments, segment];
    this.#sync.mark(folder.file);
    return segment;
  }

  #seal(): void {
    if (this.#current === undefined) return;
    this.#sync.retire(fileOf(this.#current));
    this.#current.file = undefined;
    this.#current = undefined;
  }

  /** A sealed segment can be flushed and deleted, which frees its space, so a full disk may recover without help. */
  #refuse(thrown: unknown): void {
    if (!this.#isRefusing) this.#log.error({ err: thrown }, "the usage journal cannot be written");
    this.#isRefusing = true;
    this.#isResting = true;
    setTimeout(() => {
      this.#isResting = false;
    }, RETRY_INTERVAL_MS).unref();
    if (this.#current === undefined) return;
    try {
      ftruncateSync(fileOf(this.#current), this.#current.bytes);
    } catch (cause) {
      this.#log.error(
        { err: cause },
        "rejected records could not be removed from the usage journal",
      );
    }
    if (this.#current.bytes > 0) this.#seal();
  }

  #recover(): void {
    this.#isRefusing = false;
    this.#log.info("the usage journal can be written again");
  }
}

function fileOf(segment: Segment): number {
  if (segment.file === undefined) throw new Error("the segment is sealed");
  return segment.file;
}
