import { resolve } from "node:path";
import { eq } from "drizzle-orm";
import type { Role } from "../../core/callers/caller.ts";
import type { Db } from "../../db/context.ts";
import { datasets } from "../../db/tables/datasets.ts";
import { files, vectorStores } from "../../db/tables/knowledge.ts";
import { workflows } from "../../db/tables/workflows.ts";
import type { FileConnections } from "../../knowledge/file-connections.ts";
import { mayUse, type Owned } from "../../knowledge/rights.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { DeliveredEvent, FileFacts } from "../../queue/subscriptions.ts";
import { isReadByName } from "../dataset-names.ts";
import type { EventTrigger, KnownTrigger } from "./known-triggers.ts";
import { chainOfFile, chainOfIngestion } from "./marks.ts";

/** The owner of a workflow that waits for an event. */
export interface TriggerOwner {
  readonly ownerId: string;
  readonly role: Role;
}

/** What an event is about, as far as it decides which workflows it starts. */
export interface EventSubject {
  readonly kind: EventTrigger["kind"];
  readonly isWantedBy: (known: KnownTrigger) => boolean;
  /** Reads who may know of it by which triggers; nobody else's workflow starts. */
  readonly readAudience: (
    db: Db,
  ) => Promise<(owner: TriggerOwner, trigger: EventTrigger) => boolean>;
  /** The watched folder of a file, absolute. */
  readonly watched?: string | undefined;
  /** The workflows that led to the event. `watched` is given without symbolic links. */
  readonly readChain: (db: Db, watched: string | undefined) => Promise<readonly string[]>;
  /** Shown with the run. */
  readonly facts: JsonObject;
  /** The name of the file connection, where a file of one is meant. */
  readonly folder?: string | undefined;
}

const NOBODY = () => false;

export function subjectOf(
  event: DeliveredEvent,
  fileConnections: Pick<FileConnections, "list">,
): EventSubject {
  switch (event.kind) {
    case "file.uploaded":
    case "file.deleted":
      return fileSubject(event.kind === "file.uploaded" ? "uploaded" : "deleted", event.body, {
        folder: folderName(event.body, fileConnections),
      });
    case "knowledge.ingested":
      return knowledgeSubject(event);
    case "workflow.completed":
    case "workflow.failed":
      return runSubject(event);
    case "dataset.updated":
      return datasetSubject(event);
  }
}

function folderName(
  body: FileFacts,
  fileConnections: Pick<FileConnections, "list">,
): string | undefined {
  if (body.source === "upload") return undefined;
  const folder = resolve(body.folder);
  return fileConnections.list().find((connection) => connection.folder === folder)?.name;
}

function fileSubject(
  change: "uploaded" | "deleted",
  body: FileFacts,
  { folder }: Pick<EventSubject, "folder">,
): EventSubject {
  const isUpload = body.source === "upload";
  return {
    kind: "file",
    isWantedBy: ({ trigger, matchesPath }) =>
      trigger.kind === "file" &&
      trigger.on.includes(change) &&
      (trigger.folder === undefined || trigger.folder === folder) &&
      matchesPath(body.path),
    // The server's folders are for administrators, as the steps that read them are.
    readAudience: async (db) =>
      isUpload ? audienceOfUpload(db, body) : ({ role }) => role === "admin",
    watched: isUpload ? undefined : body.folder,
    // No step deletes files.
    readChain: async (db, watched = "") =>
      change === "uploaded" ? chainOfFile(db, body, watched) : [],
    facts: {
      path: body.path,
      ...(isUpload ? { file_id: body.file_id } : { folder: folder ?? null }),
    },
    folder,
  };
}

async function audienceOfUpload(
  db: Db,
  body: Extract<FileFacts, { readonly source: "upload" }>,
): Promise<(owner: TriggerOwner) => boolean> {
  const { ownerId, visibility } = files;
  const [row] = await db
    .select({ ownerId, visibility })
    .from(files)
    .where(eq(files.id, body.file_id));
  // A deleted file has no row any more; its last owner is known.
  return seenBy(row ?? { ownerId: body.owner_id, visibility: "private" });
}

function knowledgeSubject({ body }: DeliveredEvent<"knowledge.ingested">): EventSubject {
  const { vector_store_id: vectorStoreId, batch_id: batchId, file_id: fileId } = body;
  return {
    kind: "knowledge",
    isWantedBy: ({ trigger }) =>
      trigger.kind === "knowledge" && trigger.vector_store === vectorStoreId,
    async readAudience(db) {
      const { id, ownerId, visibility } = vectorStores;
      const rows = await db
        .select({ ownerId, visibility })
        .from(vectorStores)
        .where(eq(id, vectorStoreId));
      return seenBy(rows[0]);
    },
    readChain: (db) => chainOfIngestion(db, { vectorStoreId, batchId, fileId }),
    facts: { vector_store: vectorStoreId, batch_id: batchId },
  };
}

function runSubject({
  kind,
  body,
}: DeliveredEvent<"workflow.completed" | "workflow.failed">): EventSubject {
  const status = kind === "workflow.completed" ? "completed" : "failed";
  return {
    kind: "workflow",
    isWantedBy({ trigger, workflowId }) {
      if (trigger.kind !== "workflow" || !trigger.on.includes(status)) return false;
      // `*` means the others: that a workflow follows its own runs must be said.
      if (trigger.workflow === "*") return trigger.allow_loop || workflowId !== body.workflow_id;
      return trigger.workflow === body.workflow_id;
    },
    async readAudience(db) {
      const { id, ownerId, visibility } = workflows;
      const rows = await db
        .select({ ownerId, visibility })
        .from(workflows)
        .where(eq(id, body.workflow_id));
      return seenBy(rows[0]);
    },
    readChain: async () => body.chain,
    facts: { workflow: body.workflow_id, run_id: body.run_id, status },
  };
}

function datasetSubject({ body }: DeliveredEvent<"dataset.updated">): EventSubject {
  return {
    kind: "dataset",
    isWantedBy: ({ trigger }) =>
      trigger.kind === "dataset" &&
      (trigger.dataset === body.dataset || trigger.dataset === body.dataset_name),
    async readAudience(db) {
      const { id, ownerId, visibility } = datasets;
      const [row] = await db
        .select({ id, ownerId, visibility })
        .from(datasets)
        .where(eq(id, body.dataset));
      if (row === undefined) return NOBODY;
      return (owner, trigger) =>
        trigger.kind === "dataset" &&
        mayUse(row, owner) &&
        isReadByName(row, owner, trigger.dataset);
    },
    readChain: async () => body.chain,
    facts: { dataset: body.dataset, change: body.change, version: body.version },
  };
}

/** Nobody may know of what is gone. */
function seenBy(record: Owned | undefined): (owner: TriggerOwner) => boolean {
  return record === undefined ? NOBODY : (owner) => mayUse(record, owner);
}
