import type { Clock } from "../../lib/clock.ts";
import type { UsageEntry, UsageRecord, UsageStart } from "../usage-record.ts";
import type { DirectInserts } from "./direct-inserts.ts";
import type { Flusher } from "./flusher.ts";
import type { GroupSync } from "./group-sync.ts";
import type { JournalWriter } from "./journal-writer.ts";
import type { Progress } from "./replay-journal.ts";
import type { Segment } from "./segment.ts";

/** What a call is written down with. */
export interface CallJournal {
  readonly writer: JournalWriter;
  readonly flusher: Flusher;
  readonly direct: DirectInserts;
  readonly sync: GroupSync;
  /** JOURNAL_FSYNC is `wait`. */
  readonly mustSync: boolean;
  readonly clock: Clock;
}

/** Resolves when it is written down that a call begins. */
export async function openCall(journal: CallJournal, start: UsageStart): Promise<UsageEntry> {
  const segment = await journal.writer.append("start", startJson(start));
  if (segment === undefined) {
    // A refusal seals the segment: once flushed and deleted, it gives its space back.
    journal.flusher.wake();
    await journal.direct.checkWritable();
  } else segment.openCalls += 1;
  return new JournaledCall(journal, start.id, segment);
}

/**
 * Whether the journal's disk takes a record; tried with one that tells nothing but that this process lives. A server that
 * says it is not ready gets no calls that would find out. Never rejects.
 */
export async function canJournal({ writer, flusher, clock }: CallJournal): Promise<boolean> {
  const sign: Progress = { id: "", outputTokens: 0, at: clock.now() };
  const segment = await writer.append("progress", JSON.stringify(sign));
  flusher.wake();
  return segment !== undefined;
}

/** The start as it is now, in plain fields: a serialiser is slow with one that is computed. */
function startJson({ id, keyId, channel, model, startedAt, inputTokens }: UsageStart): string {
  return JSON.stringify({ id, keyId, channel, model, startedAt, inputTokens });
}

/** A class for its cheapness: one object a call, no closures. */
class JournaledCall implements UsageEntry {
  readonly #journal: CallJournal;
  readonly #id: string;
  /** Where the start is; undefined when the disk refused it. */
  readonly #startedIn: Segment | undefined;
  #isClosed = false;

  constructor(journal: CallJournal, id: string, startedIn: Segment | undefined) {
    this.#journal = journal;
    this.#id = id;
    this.#startedIn = startedIn;
  }

  progress(outputTokens: number): void {
    // Without the start the progress tells nothing.
    if (this.#startedIn === undefined || this.#isClosed) return;
    const progress: Progress = { id: this.#id, outputTokens, at: this.#journal.clock.now() };
    void this.#journal.writer.append("progress", JSON.stringify(progress));
  }

  async close(record: UsageRecord): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { writer, flusher, direct, sync, mustSync } = this.#journal;
    const json = JSON.stringify(record);
    const segment = await writer.append("end", json);
    if (segment === undefined) return direct.insert(json, () => this.#release(0));
    flusher.noteEnd(segment, record.startedAt + record.latencyMs);
    this.#release(writer.position);
    if (mustSync) await sync.settle();
  }

  /** The start's segment may go once the database has the end, which is in the journal before `endsAt`; 0: nowhere. */
  #release(endsAt: number): void {
    const segment = this.#startedIn;
    if (segment === undefined) return;
    segment.openCalls -= 1;
    segment.neededUntil = Math.max(segment.neededUntil, endsAt);
    if (endsAt === 0) this.#journal.flusher.wake();
  }
}
