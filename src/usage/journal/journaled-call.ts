import type { Clock } from "../../lib/time/clock.ts";
import type { UsageEntry, UsageRecord, UsageStart } from "../usage-record.ts";
import type { DirectInserts } from "./direct-inserts.ts";
import type { Flusher } from "./flusher.ts";
import type { GroupSync } from "./group-sync.ts";
import type { JournalWriter } from "./journal-writer.ts";
import type { LateStart, LateStarts } from "./late-starts.ts";
import type { Progress } from "./replay-journal.ts";
import type { Segment } from "./segment.ts";

/** Dependencies of recording a call. */
export interface CallJournal {
  readonly writer: JournalWriter;
  readonly flusher: Flusher;
  readonly direct: DirectInserts;
  readonly sync: GroupSync;
  readonly lateStarts: LateStarts;
  /** JOURNAL_FSYNC is `wait`. */
  readonly mustSync: boolean;
  readonly clock: Clock;
}

/**
 * Opens the entry of a call. Its start is recorded later, if it lasts. While the journal refuses, resolves when the start
 * is recorded, or the database is known to take the end; rejects with `storage_unavailable`.
 */
export function openCall(
  journal: CallJournal,
  start: UsageStart,
): UsageEntry | Promise<UsageEntry> {
  const call = new JournaledCall(journal, start);
  if (isRefusing(journal)) return call.openOnRefusal().then(() => call);
  journal.lateStarts.add(call);
  return call;
}

/** True while the journal's disk refuses records, or to sync them where calls wait for that. */
export function isRefusing({ writer, sync, mustSync }: CallJournal): boolean {
  return writer.isRefusing || (mustSync && sync.isFailing);
}

/**
 * Returns whether the journal's disk takes a record, tested with one that only proves that this process lives. A server
 * that is not ready gets no calls that would show it. Rejects with `storage_unavailable` when the disk takes the record
 * but does not sync it where calls wait for that.
 */
export async function canJournal(journal: CallJournal): Promise<boolean> {
  const { writer, flusher, sync, mustSync, clock } = journal;
  const sign: Progress = { id: "", outputTokens: 0, at: clock.now() };
  const segment = await writer.append("progress", JSON.stringify(sign));
  flusher.wake();
  if (segment !== undefined && mustSync) await sync.settle();
  return segment !== undefined;
}

/** Renders a snapshot of the start in plain fields: serializing computed properties is slow. */
function startJson(start: UsageStart): string {
  const { id, keyId, channel, model, startedAt, inputTokens } = start;
  const of = { assistantId: start.assistantId, toolName: start.toolName, runId: start.runId };
  return JSON.stringify({ id, keyId, channel, model, startedAt, inputTokens, ...of });
}

/** A class for performance: one object per call, no closures. */
class JournaledCall implements UsageEntry, LateStart {
  readonly #journal: CallJournal;
  readonly #id: string;
  /** What the start record needs, until it is written. */
  #start: UsageStart | undefined;
  /** Pending while the start record is being written. */
  #starting: Promise<void> | undefined;
  /** The segment of the start record; undefined without one. */
  #startedIn: Segment | undefined;
  #isClosed = false;

  constructor(journal: CallJournal, start: UsageStart) {
    this.#journal = journal;
    this.#id = start.id;
    this.#start = start;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  async openOnRefusal(): Promise<void> {
    const { sync, mustSync } = this.#journal;
    // Before the start is recorded: a call that is refused has none.
    if (mustSync && sync.isFailing) await canJournal(this.#journal);
    await this.recordStart();
    if (this.#startedIn === undefined) await this.#journal.direct.checkWritable();
  }

  recordStart(): undefined | Promise<void> {
    const start = this.#start;
    if (start === undefined || this.#isClosed) return this.#starting;
    this.#start = undefined;
    this.#starting = this.#writeStart(start);
    return this.#starting;
  }

  async #writeStart(start: UsageStart): Promise<void> {
    const segment = await this.#journal.writer.append("start", startJson(start));
    this.#starting = undefined;
    this.#startedIn = segment;
    if (segment !== undefined) segment.openCalls += 1;
    // A refusal seals the segment; flushing and deleting it frees its space.
    else this.#journal.flusher.wake();
  }

  progress(outputTokens: number): void {
    // Progress has no meaning without the start.
    if (this.#startedIn === undefined || this.#isClosed) return;
    const progress: Progress = { id: this.#id, outputTokens, at: this.#journal.clock.now() };
    void this.#journal.writer.append("progress", JSON.stringify(progress));
  }

  async close(record: UsageRecord): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#start = undefined;
    const { writer, flusher, direct, sync, mustSync } = this.#journal;
    const json = JSON.stringify(record);
    const segment = await writer.append("end", json);
    if (segment === undefined) return direct.insert(json, () => this.#release(0));
    flusher.noteEnd(segment, record.startedAt + record.latencyMs);
    this.#release(writer.position);
    if (mustSync) await sync.settle();
  }

  /**
   * The start's segment may be deleted once the database has the end record, which is in the journal before `endsAt`; 0
   * when the end is not in the journal.
   */
  #release(endsAt: number): void {
    const segment = this.#startedIn;
    if (segment === undefined) return;
    segment.openCalls -= 1;
    segment.neededUntil = Math.max(segment.neededUntil, endsAt);
    if (endsAt === 0) this.#journal.flusher.wake();
  }
}
