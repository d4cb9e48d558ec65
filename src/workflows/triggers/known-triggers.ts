import { inArray, sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import type { Database } from "../../db/database.ts";
import { readChange } from "../../db/next-change.ts";
import { workflows } from "../../db/tables/workflows.ts";
import { shareRuns } from "../../lib/concurrency.ts";
import { inGroups } from "../../lib/in-groups.ts";
import { pathGlob } from "../../queue/path-glob.ts";
import { type KeyedTrigger, readTriggers, type StartingTrigger } from "./stored-triggers.ts";

/** A trigger that waits for events. */
export type EventTrigger = Exclude<StartingTrigger, { readonly kind: "schedule" }>;

export interface KnownTrigger extends KeyedTrigger<EventTrigger> {
  readonly workflowId: string;
  /** Of a file trigger. */
  readonly matchesPath: (path: string) => boolean;
}

/** Definitions that are read at once: each may have 256 KiB. */
const PAGE_ROWS = 100;

/**
 * The triggers of all workflows that wait for events, in memory: most events start nothing, and cost one look at the
 * change counter.
 */
export interface KnownTriggers {
  /** Those of this kind, as of the last change that was committed before the call. Rejects when the database does. */
  readonly find: (kind: EventTrigger["kind"]) => Promise<readonly KnownTrigger[]>;
}

export function createKnownTriggers(database: Pick<Database, "askOwn">): KnownTriggers {
  let known = new Map<string, KnownWorkflow>();
  let byKind = new Map<EventTrigger["kind"], KnownTrigger[]>();
  let upTo = -1;
  const catchUp = shareRuns(async () => {
    const reached = await database.askOwn((db) => readChange(db, "workflows"));
    if (reached === upTo) return;
    // A lower number: the database was restored to an earlier state.
    known = await readWorkflows(database, reached < upTo ? new Map() : known);
    byKind = groupByKind([...known.values()].flatMap(({ triggers }) => triggers));
    upTo = reached;
  });
  return {
    async find(kind) {
      await catchUp();
      return byKind.get(kind) ?? [];
    },
  };
}

function groupByKind(triggers: readonly KnownTrigger[]) {
  const groups = new Map<EventTrigger["kind"], KnownTrigger[]>();
  for (const known of triggers) {
    const group = groups.get(known.trigger.kind);
    if (group === undefined) groups.set(known.trigger.kind, [known]);
    else group.push(known);
  }
  return groups;
}

interface KnownWorkflow {
  readonly version: number;
  readonly triggers: readonly KnownTrigger[];
}

/** Reads the definitions whose version is not among the known ones. */
async function readWorkflows(
  { askOwn }: Pick<Database, "askOwn">,
  known: ReadonlyMap<string, KnownWorkflow>,
): Promise<Map<string, KnownWorkflow>> {
  const { id, version } = workflows;
  const versions = await askOwn((db) => db.select({ id, version }).from(workflows));
  const found = new Map<string, KnownWorkflow>();
  const changed: string[] = [];
  for (const row of versions) {
    const same = known.get(row.id);
    if (same?.version === row.version) found.set(row.id, same);
    else changed.push(row.id);
  }
  for (const ids of inGroups(changed, PAGE_ROWS)) {
    const page = await askOwn((db) => readPage(db, ids));
    for (const { id: workflowId, version: read, triggers } of page) {
      found.set(workflowId, { version: read, triggers: toKnown(workflowId, triggers) });
    }
  }
  return found;
}

function readPage(db: Db, ids: readonly string[]) {
  const { id, version, definition } = workflows;
  return db
    .select({ id, version, triggers: sql<unknown>`${definition} -> 'triggers'` })
    .from(workflows)
    .where(inArray(id, [...ids]));
}

function toKnown(workflowId: string, triggers: unknown): readonly KnownTrigger[] {
  return readTriggers(triggers).flatMap(({ key, trigger }) => {
    if (trigger.kind === "schedule") return [];
    const matchesPath = trigger.kind === "file" ? toPathTest(trigger.path) : () => false;
    return [{ workflowId, key, trigger, matchesPath }];
  });
}

/** `pathGlob`, which takes microseconds, behind a look at the text before the first wildcard, which is mostly enough. */
function toPathTest(filter: string): (path: string) => boolean {
  const matches = pathGlob(filter);
  const [prefix = ""] =
    /^[^*?[\]\\]*/.exec(filter.normalize("NFC").replace(/^(?:\.?\/)+/, "")) ?? [];
  // Several slashes count as one, so such a text is not compared as it is.
  if (prefix === "" || prefix.includes("//")) return matches;
  return (path) => path.normalize("NFC").startsWith(prefix) && matches(path);
}
