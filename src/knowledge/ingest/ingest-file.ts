import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import type { Clock } from "../../lib/time/clock.ts";
import {
  ClaimLost,
  describeFailure,
  type JobOutcome,
  type WorkContext,
} from "../../queue/topic.ts";
import { UnreadableFile } from "../readers/reader.ts";
import type { ReadChunks } from "./chunks/read-chunks.ts";
import { embeddedText } from "./chunks/split-chunks.ts";
import { beginFile, type ChunkStore, OtherDimensions, storeBatch } from "./chunks/store-chunks.ts";
import type { EmbedFirst } from "./embed-in-batches.ts";
import { completeFile, type FileFailure, failFile } from "./end-file.ts";
import type { IngestedFile } from "./ingestion-jobs.ts";
import {
  countOtherChunks,
  type IngestionTarget,
  readTarget,
  TargetGone,
} from "./ingestion-target.ts";

/**
 * Pauses between the tries of a file. Each try also waits for minutes while the embedding engine is unavailable, so that
 * an outage of ten minutes is survived. Each batch that is stored begins the count of tries again.
 */
export const INGEST_PAUSES_MS = [60_000, 300_000] as const;
const TRIES = INGEST_PAUSES_MS.length + 1;
/** A generation that is exchanged during a try makes the file begin again; more often than this it waits for a retry. */
const GENERATIONS_A_TRY = 5;
/** Chunks that are handed to the embedder, which takes as many of them as fit into one request. */
const CHUNKS_AHEAD = 64;

export interface IngestParts {
  readonly db: Db;
  readonly clock: Clock;
  readonly readChunks: ReadChunks;
  readonly embedFirst: EmbedFirst;
  /** Throws `invalid_value` when a store of so many chunks could not be searched. */
  readonly refuseOutgrown?: (store: { chunks: number; dimensions: number }) => void;
  /** Called after a batch of chunks was stored, with their number. */
  readonly onStored: (count: number) => void;
  /** Called after files of earlier versions were taken out of a store. */
  readonly onReplaced: (fileIds: readonly string[]) => void;
}

/** What became of a try. */
export const INGEST_OUTCOMES = ["completed", "failed", "retried", "dropped"] as const;
export type IngestOutcome = (typeof INGEST_OUTCOMES)[number];

export interface IngestTry {
  readonly outcome: IngestOutcome;
  readonly job: JobOutcome;
}

const DONE: JobOutcome = { kind: "done" };

/**
 * Makes one try at a file, which continues where the last one stopped. A failed file is a job that is done: its reason
 * is in its row. Rejects when the claim is lost.
 *
 * @param attempts tries so far without any progress, including this one.
 */
export async function ingestFile(
  parts: IngestParts,
  { file, attempts }: { readonly file: IngestedFile; readonly attempts: number },
  context: WorkContext,
): Promise<IngestTry> {
  let failures = attempts;
  const checkpoint = async (transaction: Db) => {
    await context.checkpoint(transaction);
    failures = 1;
  };
  for (let round = 0; round < GENERATIONS_A_TRY; round += 1) {
    const target = await readTarget(parts.db, file);
    if (target === undefined) return { outcome: "dropped", job: DONE };
    const store: ChunkStore = { db: parts.db, target, checkpoint, confirm: context.confirm };
    try {
      await ingest(parts, store, context.signal);
      return { outcome: "completed", job: DONE };
    } catch (thrown) {
      if (thrown instanceof ClaimLost || context.signal.aborted) throw thrown;
      const ended = await endFailed(parts, store, { thrown, failures });
      if (ended !== undefined) return ended;
    }
  }
  return { outcome: "retried", job: { kind: "released" } };
}

/** Resolves with undefined when the target is gone: there may be another one for the job. */
async function endFailed(
  { clock, onReplaced }: IngestParts,
  store: ChunkStore,
  { thrown, failures }: { readonly thrown: unknown; readonly failures: number },
): Promise<IngestTry | undefined> {
  if (thrown instanceof TargetGone) return undefined;
  const failure = finalFailure(thrown, failures);
  if (failure === undefined) {
    return { outcome: "retried", job: { kind: "failed", error: describeFailure(thrown) } };
  }
  try {
    onReplaced(await failFile(store, failure, clock.now()));
    return { outcome: "failed", job: DONE };
  } catch (gone) {
    if (gone instanceof TargetGone) return undefined;
    throw gone;
  }
}

async function ingest(parts: IngestParts, store: ChunkStore, signal: AbortSignal): Promise<void> {
  const { target } = store;
  const found = await parts.readChunks(target, signal);
  if (found.length === 0) throw new UnreadableFile("unsupported_file", "The file has no text.");
  const begun = await beginFile(store, found);
  for (let first = begun; first < found.length; ) {
    // Of those at hand only: together they repeat the headings of a long document many times.
    const ahead = found
      .slice(first, first + CHUNKS_AHEAD)
      .map((chunk) => ({ ...chunk, embedded: embeddedText(target.filename, chunk) }));
    const texts = ahead.map(({ embedded }) => embedded);
    const vectors = await parts.embedFirst(target.model, texts, signal);
    const batch = ahead.slice(0, vectors.length);
    if (first === begun) await refuseOutgrown(parts, target, [found.length, vectors]);
    await storeBatch(store, batch, { vectors, first });
    parts.onStored(batch.length);
    first += batch.length;
  }
  parts.onReplaced(await completeFile(store, found.length, parts.clock.now()));
}

/** The length of its vectors is known with the first of them. */
async function refuseOutgrown(
  { db, refuseOutgrown: refuse }: IngestParts,
  target: IngestionTarget,
  [count, vectors]: readonly [number, readonly Float32Array[]],
): Promise<void> {
  if (refuse === undefined) return;
  const others = await countOtherChunks(db, target);
  refuse({ chunks: others + count, dimensions: vectors[0]?.length ?? 0 });
}

/** Why the file has failed; undefined when a further try may help. */
function finalFailure(thrown: unknown, failures: number): FileFailure | undefined {
  const isUnreadable = thrown instanceof UnreadableFile;
  // With `server_error` the reader has failed, not the file.
  if (isUnreadable && (thrown.code !== "server_error" || failures >= TRIES)) {
    return { code: thrown.code, message: thrown.message };
  }
  if (thrown instanceof OtherDimensions || isRefusal(thrown) || failures >= TRIES) {
    return { code: "server_error", message: describeFailure(thrown) };
  }
  return undefined;
}

/** The engine does not take the text, however short it is. */
function isRefusal(thrown: unknown): boolean {
  return thrown instanceof ServiceError && thrown.status < 500 && thrown.status !== 429;
}
