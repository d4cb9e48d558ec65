import { eq, or } from "drizzle-orm";
import type { SessionCaller } from "../../core/callers/caller.ts";
import type { Db } from "../../db/context.ts";
import type { Database } from "../../db/database.ts";
import { datasets } from "../../db/tables/datasets.ts";
import { vectorStores } from "../../db/tables/knowledge.ts";
import { workflows } from "../../db/tables/workflows.ts";
import { mayUse, type Owned } from "../../knowledge/rights.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { foreignName, isReadByName, type NamedDataset } from "../dataset-names.ts";
import type { Fault, Trigger } from "./definition.ts";
import { unknownName } from "./describe-faults.ts";
import { outside, type PlacedTrigger, placeOf } from "./parse-triggers.ts";

type Schedule = Extract<Trigger, { readonly kind: "schedule" }>;

/** The next times of a schedule that is saved at `now` (Unix milliseconds), or what is wrong with it. */
export type CheckSchedule = (
  trigger: Schedule,
  now: number,
) => { readonly next: readonly Date[] } | { readonly field: string; readonly message: string };

export interface TriggerChecks {
  readonly database: Pick<Database, "ask">;
  readonly clock: Clock;
  readonly checkSchedule: CheckSchedule;
  /** The names of the file connections. */
  readonly folders: () => readonly string[];
}

interface Subject {
  readonly owner: SessionCaller;
}

/** Lists the triggers that never fire: wrong schedules, and what does not exist for the owner. */
export async function checkTriggers(
  checks: TriggerChecks,
  subject: Subject,
  triggers: readonly PlacedTrigger[],
): Promise<readonly Fault[]> {
  const faults = await Promise.all(
    triggers.map(async ({ at, trigger }) => {
      const found = await checkTrigger(checks, subject, trigger);
      return found === undefined ? [] : [outside(placeOf(at, found.field), found.message)];
    }),
  );
  return faults.flat();
}

async function checkTrigger(
  checks: TriggerChecks,
  { owner }: Subject,
  trigger: Trigger,
): Promise<{ readonly field: string; readonly message: string } | undefined> {
  switch (trigger.kind) {
    case "webhook":
      return undefined;
    case "schedule": {
      const checked = checks.checkSchedule(trigger, checks.clock.now());
      return "next" in checked ? undefined : checked;
    }
    case "file":
      return trigger.folder === undefined ? undefined : folderFault(checks, owner, trigger.folder);
    default:
      return targetFault(checks, owner, trigger);
  }
}

function folderFault({ folders }: TriggerChecks, owner: SessionCaller, folder: string) {
  if (owner.role !== "admin") {
    const message =
      "Only a workflow whose owner is an administrator may watch a folder of the server. Leave the field out for uploads.";
    return { field: "folder", message };
  }
  const names = folders();
  if (names.includes(folder)) return undefined;
  return { field: "folder", message: unknownName("file connection", folder, names) };
}

type Target = Exclude<Trigger, { readonly kind: "webhook" | "schedule" | "file" }>;

function targetOf(trigger: Target): string {
  if (trigger.kind === "knowledge") return trigger.vector_store;
  return trigger.kind === "workflow" ? trigger.workflow : trigger.dataset;
}

async function targetFault({ database }: TriggerChecks, owner: SessionCaller, trigger: Target) {
  const name = targetOf(trigger);
  if (trigger.kind === "workflow" && name === "*") return undefined;
  const found = await database.ask((db) => READ[trigger.kind](db, name));
  const field = trigger.kind === "knowledge" ? "vector_store" : trigger.kind;
  if (found === undefined || !mayUse(found, owner)) {
    return { field, message: MISSING[trigger.kind] };
  }
  if (!("name" in found) || isReadByName(found, owner, name)) return undefined;
  return { field, message: foreignName(found) };
}

type Found = Owned | (NamedDataset & { readonly name: string });

const READ: Record<Target["kind"], (db: Db, name: string) => Promise<Found | undefined>> = {
  async knowledge(db, id) {
    const { ownerId, visibility } = vectorStores;
    const isStore = eq(vectorStores.id, id);
    const [row] = await db.select({ ownerId, visibility }).from(vectorStores).where(isStore);
    return row;
  },
  async workflow(db, id) {
    const { ownerId, visibility } = workflows;
    const isWorkflow = eq(workflows.id, id);
    const [row] = await db.select({ ownerId, visibility }).from(workflows).where(isWorkflow);
    return row;
  },
  async dataset(db, idOrName) {
    const { id, name, ownerId, visibility } = datasets;
    const found = await db
      .select({ id, name, ownerId, visibility })
      .from(datasets)
      .where(or(eq(id, idOrName), eq(name, idOrName)));
    return found.find((row) => row.id === idOrName) ?? found[0];
  },
};

const MISSING: Record<Target["kind"], string> = {
  knowledge:
    "The workflow's owner may use no vector store of this id. Take one of GET /v1/vector_stores.",
  workflow:
    "The workflow's owner may see no workflow of this id. Take one of GET /api/pipeline/workflows, or '*' for all.",
  dataset:
    "The workflow's owner may use no dataset of this id or name. Take one of GET /api/datasets.",
};
