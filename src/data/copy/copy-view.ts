import { sql } from "drizzle-orm";
import type { Database } from "../../db/database.ts";
import { listParts, type Segment, segmentsOf } from "../datasets/dataset-tables.ts";
import type {
  BuiltInView,
  CopiedByDays,
  SchemaView as View,
  ViewColumn,
  ViewedDataset,
} from "../views/data-view.ts";
import type { CopyStates, FedView, FeedRequest } from "./copy-messages.ts";
import { quoteName, quoteText } from "./quote-sql.ts";
import { type BatchSource, readBatches } from "./read-batches.ts";

/** Removed rows of a dataset stay for longer than this; a copy that is older is made anew. */
const DATASET_AGE_MS = 10 * 60_000;
/** With more changed days than this, all of the view is copied again. */
const CHANGED_DAYS_MAX = 100;

export type CopiedView = BuiltInView | View;

/** What copies of views are made with, during one round. */
export interface FeedRound {
  readonly database: Pick<Database, "askOwn" | "figures">;
  readonly send: (request: FeedRequest) => Promise<unknown>;
  /** Unix milliseconds of the round's beginning. */
  readonly asOf: number;
}

export function fedView(view: CopiedView): FedView {
  const { name, comment, columns, key } = view;
  const datasetId = isBuiltIn(view) ? null : (view.dataset?.id ?? "");
  return { name, comment, columns, key, datasetId };
}

const isBuiltIn = (view: CopiedView): view is BuiltInView => "copied" in view;

/** Brings a view of the copy up to date. Returns false where nothing changed, and nothing was told to the copy. */
export async function copyView(
  round: FeedRound,
  view: CopiedView,
  known: CopyStates[string],
): Promise<boolean> {
  // Whatever an interrupted round has left would come twice.
  await round.send({ type: "discard", view: view.name });
  if (!isBuiltIn(view)) {
    return view.dataset === null
      ? false
      : copyDataset(round, { view, dataset: view.dataset }, known);
  }
  if (view.copied.kind === "whole") return copyWhole(round, view, known);
  return copyDays(round, { view, ...view.copied }, known);
}

function sourceOf({ select, columns, key }: BuiltInView, where = "true"): BatchSource {
  return { from: `(${select}) as source`, columns, key, where };
}

async function stage({ database, send }: FeedRound, view: string, source: BatchSource) {
  return readBatches(database, source, async (rows) => {
    await send({ type: "rows", view, rows });
  });
}

async function copyWhole(
  round: FeedRound,
  view: BuiltInView,
  known: CopyStates[string],
): Promise<boolean> {
  const { name } = view;
  const { digest } = await stage(round, name, sourceOf(view));
  if (known?.state === digest) {
    await round.send({ type: "discard", view: name });
    return false;
  }
  const remove = { kind: "where", condition: "true" } as const;
  await round.send({ type: "apply", view: name, remove, state: digest, asOf: round.asOf });
  return true;
}

interface ViewOfDays extends Pick<CopiedByDays, "ofDay" | "fingerprints"> {
  readonly view: BuiltInView;
}

async function copyDays(
  round: FeedRound,
  of: ViewOfDays,
  known: CopyStates[string],
): Promise<boolean> {
  const { view } = of;
  const { name } = view;
  const found = await round.database.askOwn((db) =>
    db.execute<{ day: string; fingerprint: string }>(
      sql.raw(
        `select day::text as day, fingerprint::text as fingerprint from (${of.fingerprints}) as days`,
      ),
    ),
  );
  const now = new Map(Array.from(found, ({ day, fingerprint }) => [day, fingerprint]));
  const before = new Map<string, string>(known === null ? [] : JSON.parse(known.state));
  const days = new Set([...now.keys(), ...before.keys()]);
  const changed = [...days].filter((day) => now.get(day) !== before.get(day)).sort();
  if (known === null || changed.length > CHANGED_DAYS_MAX) {
    // Day by day, for to plan over all days of a partitioned table takes longer than to read a batch of one.
    for (const day of now.keys()) await stage(round, name, sourceOf(view, conditionOf(of, day)));
    const state = JSON.stringify([...now]);
    const remove = { kind: "all" } as const;
    await round.send({ type: "apply", view: name, remove, state, asOf: round.asOf });
    return true;
  }
  for (const [index, day] of changed.entries()) {
    const condition = conditionOf(of, day);
    const fingerprint = now.get(day);
    if (fingerprint === undefined) before.delete(day);
    else {
      await stage(round, name, sourceOf(view, condition));
      before.set(day, fingerprint);
    }
    const isLast = index === changed.length - 1;
    await round.send({
      ...{ type: "apply", view: name, remove: { kind: "where", condition } },
      ...{ state: JSON.stringify([...before]), asOf: isLast ? round.asOf : known.asOf },
    });
  }
  return changed.length > 0;
}

/** The rows of a day; the copy has the same columns. */
function conditionOf({ ofDay }: ViewOfDays, day: string): string {
  return ofDay.replaceAll("$1", `${quoteText(day)}::date`);
}

interface ViewOfDataset {
  readonly view: View;
  readonly dataset: ViewedDataset;
}

interface DatasetState {
  readonly table: string;
  readonly version: number;
}

const HIDDEN: readonly Pick<ViewColumn, "name" | "type">[] = [
  { name: "_load", type: "integer" },
  { name: "_row", type: "bigint" },
];

async function copyDataset(
  round: FeedRound,
  { view, dataset }: ViewOfDataset,
  known: CopyStates[string],
): Promise<boolean> {
  const { tableName: table, version } = dataset;
  const before = known === null ? null : (JSON.parse(known.state) as DatasetState);
  if (before?.table === table && before.version === version) return false;
  const state = JSON.stringify({ table, version });
  const { name } = view;
  const parts = await round.database.askOwn((db) => listParts(db, table));
  const there = `_load <= ${version} and (_gone is null or _gone > ${version})`;
  const add = async (after: number) => {
    const columns = [...view.columns, ...HIDDEN];
    for (const from of loadsOf(segmentsOf(table, parts, version), after))
      await stage(round, name, { ...from, columns, where: `${from.where} and ${there}` });
  };
  const isOld = known === null || Math.abs(round.asOf - known.asOf) > DATASET_AGE_MS;
  if (before === null || before.table !== table || isOld) {
    await add(0);
    const remove = { kind: "all" } as const;
    await round.send({ type: "apply", view: name, remove, state, asOf: round.asOf });
    return true;
  }
  const from = before.version;
  await add(from);
  const gone = `_gone > ${from} and _gone <= ${version}`;
  for (const loads of loadsOf(segmentsOf(table, parts, from), 0)) {
    const source = { ...loads, columns: HIDDEN, where: `${loads.where} and ${gone}` };
    await readBatches(round.database, source, async (text) => {
      await round.send({ type: "gone", view: name, rows: text });
    });
  }
  const remove = { kind: "gone" } as const;
  await round.send({ type: "apply", view: name, remove, state, asOf: round.asOf });
  return true;
}

/** Returns where to read the loads behind `after`. */
function loadsOf(segments: readonly Segment[], after: number) {
  return segments
    .filter(({ upTo }) => upTo > after)
    .map(({ name, isPart, ...loads }) => ({
      from: `only datasets.${quoteName(name)}`,
      key: isPart ? ["_row"] : ["_load", "_row"],
      where: isPart ? "true" : `_load > ${Math.max(after, loads.after)} and _load <= ${loads.upTo}`,
    }));
}
