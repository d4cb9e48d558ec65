import type { Part } from "../../core/part.ts";
import type { Base } from "../../db/base.ts";
import type { Db } from "../../db/context.ts";
import { withTransaction } from "../../db/context.ts";
import type { InternalEvents } from "../../queue/internal-events.ts";
import type { Job, JobOutcome, Topic, WorkContext } from "../../queue/topic.ts";
import { type TopicWorker, workTopic } from "../../queue/work-topic.ts";
import type { Embedder } from "../embed-texts.ts";
import type { FileConnections } from "../file-connections.ts";
import type { ReadChunks } from "./chunks/read-chunks.ts";
import { pruneChunks } from "./chunks/remove-chunks.ts";
import { createBatchEmbedder } from "./embed-in-batches.ts";
import { listFolderBatch } from "./folder-batch.ts";
import { forgetFiles } from "./folder-copies.ts";
import type { FolderParts, TakeFile } from "./folder-files.ts";
import { findFollowers, followFolder } from "./follow-folder.ts";
import { INGEST_PAUSES_MS, type IngestParts, ingestFile } from "./ingest-file.ts";
import { createIngestFigures } from "./ingest-metrics.ts";
import {
  enqueueFollowing,
  INGEST_STEPS_TOPIC,
  INGEST_TOPIC,
  type IngestionJobs,
} from "./ingestion-jobs.ts";
import { beginReindex } from "./reindex.ts";
import { repairIngestion } from "./repair-ingestion.ts";
import { reportBatch } from "./report-ingested.ts";

const STEP_PAUSES_MS = [5_000, 30_000, 120_000] as const;
/** Short jobs at a time. */
const STEPS_CONCURRENCY = 4;

const PRUNE_PAUSE_MS = 60_000;
const PRUNE_MAX_MS = 20_000;
const REPAIR_PAUSE_MS = 60_000;
/** Followed folders are compared this often even without an event: a folder's first scan fires none. */
const FOLLOW_PAUSE_MS = 30_000;
const FOLLOW_FIRST_MS = 5_000;

export interface IngestionParts {
  readonly embedder: Pick<Embedder, "embedPassages">;
  readonly readChunks: ReadChunks;
  readonly connections: FileConnections;
  readonly takeFile: TakeFile;
  readonly events: Pick<InternalEvents, "subscribe" | "wake">;
  /** Throws `invalid_value` when a store of so many chunks could not be searched. */
  readonly refuseOutgrown?: IngestParts["refuseOutgrown"];
  /** Whether chat calls are in progress: embedding then yields to them. */
  readonly isBusy: () => boolean;
  /** While true no file is begun; those in progress continue. */
  readonly isPaused?: () => boolean;
}

export interface Ingestion
  extends Required<Pick<Part<Db>, "jobs" | "metrics" | "refreshStored" | "close">> {
  /** Starts committed jobs immediately. */
  readonly wake: () => void;
}

/** Opens the workers that fill vector stores, and follows the folders of stores by the events of their files. */
export function openIngestion(base: Base, parts: IngestionParts): Ingestion {
  const { settings, clock, log } = base;
  const { db } = base.database;
  const { INGEST_CONCURRENCY: concurrency, OUTBOX_BACKOFF_SCALE: scale } = settings;
  const figures = createIngestFigures();
  const workers: TopicWorker[] = [];
  const wake = () => {
    for (const worker of workers) worker.wake();
    parts.events.wake();
  };
  const folders: FolderParts = {
    db,
    clock,
    log,
    connections: parts.connections,
    takeFile: parts.takeFile,
    maxBytes: settings.FILE_MAX_BYTES,
    answerTimeoutMs: settings.WATCH_ANSWER_TIMEOUT_MS,
    wake,
  };
  const files: Topic = {
    name: INGEST_TOPIC,
    pausesMs: INGEST_PAUSES_MS,
    concurrency,
    scale,
    ...(parts.isPaused !== undefined && { isPaused: parts.isPaused }),
    work: fileWork(base, parts, { figures, wake }),
  };
  const steps: Topic = {
    name: INGEST_STEPS_TOPIC,
    pausesMs: STEP_PAUSES_MS,
    concurrency: STEPS_CONCURRENCY,
    scale,
    work: async (job, context) => {
      await doStep(folders, job, context);
      wake();
      return { kind: "done" };
    },
  };
  if (concurrency > 0)
    for (const topic of [files, steps]) workers.push(workTopic({ db, clock, log }, topic));

  const follow = async (folder?: string) => {
    const stores = await findFollowers(folders, folder);
    if (stores.length === 0) return;
    await withTransaction(db, (transaction) => enqueueFollowing(transaction, stores, clock.now()));
    wake();
  };
  parts.events.subscribe({
    name: "followed folders",
    kinds: ["file.uploaded", "file.deleted"],
    async handle({ body }) {
      if (body.source === "watched_folder") await follow(body.folder);
    },
  });
  return {
    wake,
    metrics: figures.metrics,
    refreshStored: figures.refreshStored,
    jobs: [
      {
        name: "prune chunks",
        pauseMs: PRUNE_PAUSE_MS,
        run: async () => void (await pruneChunks(db, PRUNE_MAX_MS)),
      },
      {
        name: "repair ingestion",
        pauseMs: REPAIR_PAUSE_MS,
        async run() {
          await repairIngestion(db, clock.now());
          wake();
        },
      },
      {
        name: "follow folders",
        pauseMs: FOLLOW_PAUSE_MS,
        firstMs: FOLLOW_FIRST_MS,
        run: () => follow(),
      },
    ],
    async close() {
      await Promise.all(workers.map((worker) => worker.close()));
    },
  };
}

interface FileWork {
  readonly figures: ReturnType<typeof createIngestFigures>;
  readonly wake: () => void;
}

function fileWork(
  { settings, database: { db }, clock, log }: Base,
  { readChunks, embedder, isBusy, refuseOutgrown }: IngestionParts,
  { figures, wake }: FileWork,
): Topic["work"] {
  const scale = settings.OUTBOX_BACKOFF_SCALE;
  const embedFirst = createBatchEmbedder({ embedder, isBusy, scale });
  const onStored = figures.countChunks;
  const onReplaced = (fileIds: readonly string[]) =>
    void forgetFiles(db, fileIds).catch((thrown: unknown) =>
      log.warn(
        { err: thrown },
        "a changed file of a folder was read, but its earlier version was not deleted; delete it with DELETE /v1/files/{id}",
      ),
    );
  const parts: IngestParts = {
    db,
    clock,
    readChunks,
    embedFirst,
    onStored,
    onReplaced,
    ...(refuseOutgrown !== undefined && { refuseOutgrown }),
  };
  return async (job, context): Promise<JobOutcome> => {
    const { outcome, job: ended } = await ingestFile(
      parts,
      { file: bodyOf<"file">(job), attempts: job.attempts },
      context,
    );
    figures.countTry(outcome);
    if (outcome !== "retried") wake();
    return ended;
  };
}

async function doStep(folders: FolderParts, job: Job, context: WorkContext): Promise<void> {
  const { db, clock } = folders;
  switch (job.kind as keyof IngestionJobs) {
    case "reindex":
      return beginReindex(db, bodyOf<"reindex">(job), {
        checkpoint: context.checkpoint,
        now: clock.now(),
      });
    case "settle": {
      const { batchId } = bodyOf<"settle">(job);
      return withTransaction(db, (transaction) => reportBatch(transaction, batchId, clock.now()));
    }
    case "folder": {
      const isLastTry = job.attempts > STEP_PAUSES_MS.length;
      return listFolderBatch(folders, { ...bodyOf<"folder">(job), isLastTry }, context);
    }
    case "follow":
      return followFolder(folders, bodyOf<"follow">(job).vectorStoreId, context);
    case "copies":
      return forgetFiles(db, bodyOf<"copies">(job).fileIds);
    case "file":
      throw new Error("a file is a job of the other topic");
  }
}

/** The body as it was stored. */
function bodyOf<Kind extends keyof IngestionJobs>({ body }: Job): IngestionJobs[Kind] {
  return body as unknown as IngestionJobs[Kind];
}
