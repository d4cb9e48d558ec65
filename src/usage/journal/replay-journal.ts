import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Db } from "../../db/context.ts";
import { inGroups } from "../../lib/in-groups.ts";
import type { Limits } from "../../limits/limits.ts";
import type { UsageRecord, UsageStart } from "../usage-record.ts";
import { listSegments } from "./journal-folder.ts";
import type { Quarantine } from "./quarantine.ts";
import { MAX_RECORD_BYTES } from "./record-format.ts";
import { type JournalRecord, recordJson, scanRecords } from "./scan-records.ts";
import { CHUNK_BYTES, readChunk, SEGMENT_BYTES, segmentName } from "./segment.ts";
import { storeRecords } from "./store-records.ts";
import { type Checkpoint, readCheckpoints } from "./usage-store.ts";

const CUT_BATCH_RECORDS = 500;

/** The content of a `progress` record. */
export interface Progress {
  readonly id: string;
  readonly outputTokens: number;
  /** Unix milliseconds. */
  readonly at: number;
}

export interface Replay {
  readonly db: Db;
  readonly quarantine: Quarantine;
  readonly limits: Pick<Limits, "settleLost" | "recount">;
  readonly journal: string;
  readonly folder: string;
}

/** Calls that began and did not end, according to the journal. */
interface Ledger {
  readonly open: Map<string, UsageStart & { readonly outputTokens: number }>;
  /** The last moment at which the process that wrote the journal is known to have lived, in Unix milliseconds. */
  lastKnownAt: number;
}

/**
 * Moves all records of an abandoned journal into the database: finished calls as recorded, and cut calls as errors with
 * the tokens of their last progress. A segment is read up to its first bad record, and again from its checkpoint;
 * unreadable bytes are quarantined. Repeating it changes nothing. The usage counts towards the limits of its keys.
 * Rejects when the database is unavailable. Returns the number of cut calls.
 */
export async function replayJournal(replay: Replay): Promise<number> {
  const checkpoints = await readCheckpoints(replay.db, replay.journal);
  const ledger: Ledger = { open: new Map(), lastKnownAt: 0 };
  for (const segment of await listSegments(replay.folder)) {
    await replaySegment(replay, segment, { ledger, storedUntil: checkpoints.get(segment) ?? 0 });
  }
  await storeCutCalls(replay, ledger);
  // The server may have finished a statement of the killed process only after the limits had read the sums, and have
  // moved the checkpoint beyond its records. By now each such statement has ended, or inserts nothing.
  await replay.limits.recount?.();
  return ledger.open.size;
}

async function replaySegment(
  replay: Replay,
  segment: number,
  { ledger, storedUntil }: { readonly ledger: Ledger; readonly storedUntil: number },
): Promise<void> {
  const { journal, quarantine } = replay;
  const path = join(replay.folder, segmentName(segment));
  const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  let offset = 0;
  for (;;) {
    const bytes = await readChunk(path, offset, chunk);
    if (bytes.length === 0) return;
    const scan = scanRecords(bytes);
    // Records before the checkpoint are not stored again: their rows may already be dropped after their retention, and
    // would then be counted as new.
    const ends = noteRecords({ bytes, records: scan.records, given: storedUntil - offset }, ledger);
    const byteOffset = offset + scan.soundBytes;
    if (byteOffset > storedUntil) {
      await storeLost(replay, ends, { journal, segment, byteOffset });
    }
    offset = byteOffset;
    if (scan.rest === "damaged" || scan.soundBytes === 0) {
      const isBehind = offset >= storedUntil;
      const rest = await readRest(path, offset, isBehind ? Infinity : storedUntil);
      await quarantine.keepDamaged({ journal, segment, byteOffset: offset, bytes: rest });
      if (isBehind) return;
      // A record begins there, whatever the damage before it.
      offset = storedUntil;
    }
  }
}

/** Stores records, given as their JSON, in the database and counts them towards the limits. */
function storeLost(
  replay: Replay,
  records: readonly string[],
  checkpoint: Checkpoint,
): Promise<void> {
  const calls = records.map((json) => {
    const record = JSON.parse(json) as UsageRecord;
    const { id, keyId, startedAt, inputTokens, outputTokens, extraCharge = 0 } = record;
    return { id, keyId, startedAt, tokens: inputTokens + outputTokens + extraCharge };
  });
  return replay.limits.settleLost(calls, () => storeRecords(replay, records, checkpoint));
}

/** Notes which calls began and ended, and returns the finished records that end after the first `given` bytes. */
function noteRecords(
  {
    bytes,
    records,
    given,
  }: {
    readonly bytes: Buffer;
    readonly records: readonly JournalRecord[];
    readonly given: number;
  },
  ledger: Ledger,
): string[] {
  const ends: string[] = [];
  for (const record of records) {
    const json = recordJson(bytes, record);
    if (record.kind === "end" && record.end > given) ends.push(json);
    noteRecord(record.kind, JSON.parse(json), ledger);
  }
  return ends;
}

function noteRecord(kind: JournalRecord["kind"], content: unknown, ledger: Ledger): void {
  switch (kind) {
    case "start": {
      const start = content as UsageStart;
      ledger.open.set(start.id, { ...start, outputTokens: 0 });
      ledger.lastKnownAt = Math.max(ledger.lastKnownAt, start.startedAt);
      return;
    }
    case "progress": {
      const { id, outputTokens, at } = content as Progress;
      const call = ledger.open.get(id);
      if (call !== undefined) ledger.open.set(id, { ...call, outputTokens });
      ledger.lastKnownAt = Math.max(ledger.lastKnownAt, at);
      return;
    }
    case "end": {
      const { id, startedAt, latencyMs } = content as UsageRecord;
      ledger.open.delete(id);
      ledger.lastKnownAt = Math.max(ledger.lastKnownAt, startedAt + latencyMs);
      return;
    }
  }
}

async function readRest(path: string, offset: number, until: number): Promise<Buffer> {
  const { size } = await stat(path);
  const length = Math.min(Math.min(size, until) - offset, SEGMENT_BYTES + MAX_RECORD_BYTES);
  return readChunk(path, offset, Buffer.alloc(length));
}

async function storeCutCalls(replay: Replay, { open, lastKnownAt }: Ledger): Promise<void> {
  const records = [...open.values()].map((call) => JSON.stringify(cutRecord(call, lastKnownAt)));
  for (const batch of inGroups(records, CUT_BATCH_RECORDS)) {
    await storeLost(replay, batch, { journal: replay.journal, segment: 0, byteOffset: 0 });
  }
}

/** Builds the row of a call that ended with its process. The status that the client saw is unknown, so it is 0. */
function cutRecord(
  call: UsageStart & { readonly outputTokens: number },
  lastKnownAt: number,
): UsageRecord {
  return {
    ...call,
    outcome: "error",
    status: 0,
    cachedTokens: 0,
    reasoningTokens: 0,
    estimated: true,
    latencyMs: Math.max(0, lastKnownAt - call.startedAt),
    firstTokenMs: null,
  };
}
