import { eq, or } from "drizzle-orm";
import type { Caller } from "../../core/caller.ts";
import type { Db } from "../../db/context.ts";
import type { Database } from "../../db/database.ts";
import { datasets } from "../../db/tables/datasets.ts";
import { vectorStores } from "../../db/tables/knowledge.ts";
import { workflows } from "../../db/tables/workflows.ts";
import type { FileConnections } from "../../knowledge/file-connections.ts";
import { mayUse, type Owned } from "../../knowledge/rights.ts";
import { pathGlob } from "../../queue/path-glob.ts";
import type { Fault, Trigger } from "../definition/definition.ts";
import { checkSchedule } from "./check-schedule.ts";

export interface TriggerCheck {
  readonly database: Pick<Database, "ask">;
  readonly fileConnections: Pick<FileConnections, "find">;
  /** Whose rights the workflow has. */
  readonly owner: Pick<Caller, "role" | "ownerId">;
  /** Null for a new workflow. */
  readonly workflowId: string | null;
  /** Unix milliseconds. */
  readonly now: number;
}

interface TriggerFault {
  readonly field: string;
  readonly message: string;
}

/**
 * Returns what is wrong with the triggers beside their form: schedules that cannot be followed, and what does not exist
 * for the owner. Events are looked at again when they happen, so this is for the author, not for safety.
 */
export async function checkTriggers(
  check: TriggerCheck,
  triggers: readonly Trigger[],
): Promise<readonly Fault[]> {
  const faults: Fault[] = [];
  for (const [index, trigger] of triggers.entries()) {
    const fault = await findFault(check, trigger);
    if (fault === undefined) continue;
    const field = `triggers[${index}].${fault.field}`;
    faults.push({ step: null, field, message: fault.message });
  }
  return faults;
}

async function findFault(check: TriggerCheck, trigger: Trigger): Promise<TriggerFault | undefined> {
  switch (trigger.kind) {
    case "webhook":
      return undefined;
    case "schedule": {
      const checked = checkSchedule(trigger, check.now);
      return "message" in checked ? checked : undefined;
    }
    case "file":
      return findFileFault(check, trigger);
    case "workflow":
      return findWorkflowFault(check, trigger);
    case "knowledge":
      return findMissing(check, "vector_store", trigger.vector_store, readStore);
    case "dataset":
      return findMissing(check, "dataset", trigger.dataset, readDataset);
  }
}

function findFileFault(
  { fileConnections, owner }: TriggerCheck,
  { path, folder }: Extract<Trigger, { readonly kind: "file" }>,
): TriggerFault | undefined {
  try {
    pathGlob(path);
  } catch (thrown) {
    if (!(thrown instanceof RangeError)) throw thrown;
    return { field: "path", message: `The path is too long: ${thrown.message}.` };
  }
  if (folder === undefined) return undefined;
  const field = "folder";
  if (owner.role !== "admin") {
    const message = "Only an administrator's workflow may follow a folder of the server.";
    return { field, message: `${message} Leave 'folder' out to follow uploads.` };
  }
  if (fileConnections.find(folder)?.isWatched) return undefined;
  return {
    field,
    message: `There is no watched folder '${folder.slice(0, 64)}'. Name the file connection of a folder in WATCH_DIRS.`,
  };
}

async function findWorkflowFault(
  check: TriggerCheck,
  { workflow, allow_loop }: Extract<Trigger, { readonly kind: "workflow" }>,
): Promise<TriggerFault | undefined> {
  if (workflow === "*") return undefined;
  if (workflow === check.workflowId && !allow_loop) {
    const message = "A workflow does not follow its own runs. Set 'allow_loop' if it should.";
    return { field: "workflow", message };
  }
  return findMissing(check, "workflow", workflow, readWorkflow);
}

async function findMissing(
  { database, owner }: TriggerCheck,
  field: "vector_store" | "workflow" | "dataset",
  name: string,
  read: (db: Db, name: string) => Promise<readonly Owned[]>,
): Promise<TriggerFault | undefined> {
  const [record] = await database.ask((db) => read(db, name));
  if (record !== undefined && mayUse(record, owner)) return undefined;
  const what = field.replace("_", " ");
  const message = `There is no ${what} '${name.slice(0, 64)}' that the workflow's owner may use.`;
  return { field, message };
}

function readStore(db: Db, storeId: string): Promise<readonly Owned[]> {
  const { id, ownerId, visibility } = vectorStores;
  return db.select({ ownerId, visibility }).from(vectorStores).where(eq(id, storeId));
}

function readWorkflow(db: Db, workflowId: string): Promise<readonly Owned[]> {
  const { id, ownerId, visibility } = workflows;
  return db.select({ ownerId, visibility }).from(workflows).where(eq(id, workflowId));
}

function readDataset(db: Db, idOrName: string): Promise<readonly Owned[]> {
  const { id, name, ownerId, visibility } = datasets;
  return db
    .select({ ownerId, visibility })
    .from(datasets)
    .where(or(eq(id, idOrName), eq(name, idOrName)));
}
