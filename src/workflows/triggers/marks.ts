import { and, eq, lt, sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { workflowMarks } from "../../db/tables/workflows.ts";
import type { FileFacts } from "../../queue/subscriptions.ts";
import type { ClaimedRun } from "../runs/run.ts";

/**
 * A mark names the run that wrote a file or filled a vector store. Events about files and knowledge carry no chain, so
 * the triggers look the mark up: what a workflow wrote does not start it again.
 */

/** The run that writes, for marks and for datasets. */
export interface Writer {
  readonly runId: string;
  /** The workflows that led to the run, its own last. */
  readonly chain: readonly string[];
}

/**
 * A file changed this much before or after its mark is taken for another change, which is nobody's. It covers clocks
 * that differ between the database and a file server.
 */
const FILE_WINDOW_MS = 5 * 60_000;
/** A large batch may be ingested for days before its event. */
const KEPT_DAYS = 7;

export function writerOf({ id, chain, workflowId }: ClaimedRun): Writer {
  return { runId: id, chain: [...chain, workflowId] };
}

/** A file in a folder by its absolute path, without symbolic links; an uploaded one by its id. */
export type MarkedFile = { readonly path: string } | { readonly fileId: string };

/**
 * Marks a file that a run writes. To be committed shortly before the file appears under its path, or in the
 * transaction that stores the upload, so that no event comes before its mark.
 */
export function markFile(transaction: Db, file: MarkedFile, writer: Writer): Promise<void> {
  return mark(transaction, "file", "path" in file ? file.path : file.fileId, writer);
}

/** Files that were added to a vector store: their batch, or without one the file. */
export interface MarkedKnowledge {
  readonly vectorStoreId: string;
  readonly batchId: string | null;
  /** Of a file that was added by itself. */
  readonly fileId?: string | null | undefined;
}

/** Marks what a run adds to a vector store, in the transaction that adds it. */
export function markKnowledge(
  transaction: Db,
  knowledge: MarkedKnowledge,
  writer: Writer,
): Promise<void> {
  const subject = subjectOf(knowledge);
  if (subject === undefined) throw new Error("knowledge is marked by its batch or its file");
  return mark(transaction, "knowledge", subject, writer);
}

/**
 * Returns the chain of the run that wrote the file, its own workflow last; empty when no run did. `folder` is that of a
 * watched file without symbolic links, because files are marked by their path without them.
 */
export async function chainOfFile(
  db: Db,
  file: FileFacts,
  folder: string,
): Promise<readonly string[]> {
  if (file.source === "upload") return (await find(db, "file", file.file_id))?.chain ?? [];
  const { path, modified_at } = file;
  const found = await find(db, "file", `${folder === "/" ? "" : folder}/${path}`);
  if (found === undefined) return [];
  // Somebody else may have written the file since.
  const apartMs = Math.abs(Date.parse(modified_at) - found.createdAt.getTime());
  return apartMs <= FILE_WINDOW_MS ? found.chain : [];
}

/** Returns the chain of the run that added the files, its own workflow last; empty when no run did. */
export async function chainOfIngestion(
  db: Db,
  knowledge: MarkedKnowledge,
): Promise<readonly string[]> {
  const subject = subjectOf(knowledge);
  return subject === undefined ? [] : ((await find(db, "knowledge", subject))?.chain ?? []);
}

/** Deletes marks whose events were delivered long ago. */
export async function pruneMarks(db: Db): Promise<void> {
  await db
    .delete(workflowMarks)
    .where(lt(workflowMarks.createdAt, sql`now() - make_interval(days => ${KEPT_DAYS})`));
}

function subjectOf({ vectorStoreId, batchId, fileId }: MarkedKnowledge): string | undefined {
  if (batchId !== null) return batchId;
  return typeof fileId === "string" ? `${vectorStoreId}/${fileId}` : undefined;
}

type Kind = typeof workflowMarks.$inferInsert.kind;

async function mark(transaction: Db, kind: Kind, subject: string, writer: Writer): Promise<void> {
  // The database's time: a file system knows no other clock than the machine's.
  const facts = { runId: writer.runId, chain: writer.chain, createdAt: sql`now()` };
  await transaction
    .insert(workflowMarks)
    .values({ kind, subject, ...facts })
    .onConflictDoUpdate({ target: [workflowMarks.kind, workflowMarks.subject], set: facts });
}

async function find(db: Db, kind: Kind, subject: string) {
  const [found] = await db
    .select({ chain: workflowMarks.chain, createdAt: workflowMarks.createdAt })
    .from(workflowMarks)
    .where(and(eq(workflowMarks.kind, kind), eq(workflowMarks.subject, subject)));
  return found;
}
