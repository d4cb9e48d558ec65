import type { ApplyRequest, CopyStates, FedView, FeedRequest } from "../../copy/copy-messages.ts";
import { quoteName, quoteText } from "../../copy/quote-sql.ts";
import type { CopyDatabase } from "./copy-database.ts";

/**
 * The tables of the copy, in the schema `copy`: `t<number>` of a view's rows, `n<number>` of those that the next `apply`
 * brings, `g<number>` of those that it removes. Clients see views of `data` over them, as on a PostgreSQL server; so a
 * table can be exchanged, and the view keeps its grants.
 */

/** Dead rows of a table beyond this are removed: nothing does it by itself here. */
const VACUUM_ROWS = 5_000;

export interface CopyTables {
  /** True where the copy was made by an installation, a secret and a schema of this mark. */
  readonly hasMark: (mark: string) => Promise<boolean>;
  readonly begin: (request: Extract<FeedRequest, { type: "begin" }>) => Promise<CopyStates>;
  readonly add: (request: Extract<FeedRequest, { type: "rows" | "gone" }>) => Promise<void>;
  readonly discard: (view: string) => Promise<void>;
  readonly apply: (request: ApplyRequest) => Promise<void>;
  readonly unchanged: (views: readonly string[], asOf: number) => Promise<void>;
  /** Unix milliseconds by view that is whole. */
  readonly asOf: ReadonlyMap<string, number>;
}

interface TableOfView {
  readonly id: number;
  readonly view: FedView;
  dead: number;
  /** Clients see the view. Before its first `apply` they would read no rows of something that has many. */
  isShown: boolean;
  /** Rows may have been added since the last `apply`, in this process or an earlier one. */
  hasAdded: boolean;
}

const hidden = ({ datasetId }: FedView): string[] =>
  datasetId !== null ? ["_load integer not null", "_row bigint not null"] : [];
const names = (view: FedView): string => view.columns.map(({ name }) => quoteName(name)).join(", ");
/** A view of another shape is filled anew. Its comment is none of it: it changes as often as a description. */
const shapeOf = ({ columns, key, datasetId }: FedView): string =>
  JSON.stringify([columns, key, datasetId ?? false]);
const write = (...statements: string[]): string =>
  ["begin read write", ...statements, "commit"].join("; ");

/** @param onShown called when a view becomes visible: no role may read it yet. */
export function createCopyTables(
  database: Pick<CopyDatabase, "query">,
  onShown: () => void,
): CopyTables {
  const asOf = new Map<string, number>();
  const tables = new Map<string, TableOfView>();
  const run: Run = (...statements) => database.query(write(...statements));
  const tableOf = (view: string): TableOfView => {
    const table = tables.get(view);
    if (table === undefined) throw new Error(`The copy has no view ${view}.`);
    return table;
  };
  /** Takes a table that is there already, and returns its state. */
  const keep = async ([name = "", id, , state, time]: string[], view: FedView) => {
    const isShown = typeof state === "string";
    const known = tables.get(name);
    // Before the view counts as known: a comment that was not written is written in the next round.
    if (isShown && known?.view.comment !== view.comment) await run(commentOf(view));
    tables.set(name, { id: Number(id), view, dead: known?.dead ?? 0, isShown, hasAdded: true });
    if (!isShown) return null;
    asOf.set(name, Number(time));
    return { state, asOf: Number(time) };
  };
  return {
    asOf,
    async hasMark(mark) {
      const [found] = await database.query("select to_regclass('copy.mark') is not null");
      if (found?.[0] !== "t") return false;
      const [row] = await database.query("select mark from copy.mark");
      return row?.[0] === mark;
    },
    async begin({ mark, views }) {
      await run(...preparation(mark));
      const found = await database.query("select name, id, shape, state, as_of from copy.views");
      const wanted = new Map(views.map((view) => [view.name, view]));
      const states: Record<string, CopyStates[string]> = {};
      for (const row of found as string[][]) {
        const [name = "", id, shape] = row;
        const view = wanted.get(name);
        asOf.delete(name);
        if (view === undefined || shapeOf(view) !== shape) {
          await run(...removal(name, Number(id)));
          tables.delete(name);
          continue;
        }
        states[name] = await keep(row, view);
      }
      for (const view of views) {
        if (!tables.has(view.name)) tables.set(view.name, await create(run, view));
        states[view.name] ??= null;
      }
      return states;
    },
    async add({ type, view: name, rows }) {
      const known = tableOf(name);
      known.hasAdded = true;
      const { id } = known;
      const table = `copy.${type === "rows" ? "n" : "g"}${id}`;
      await run(`insert into ${table} select * from unnest(${quoteText(rows)}::${table}[])`);
    },
    async discard(name) {
      const table = tableOf(name);
      if (!table.hasAdded) return;
      await run(`truncate copy.n${table.id}, copy.g${table.id}`);
      table.hasAdded = false;
    },
    async apply(request) {
      const table = tableOf(request.view);
      const isNew = !table.isShown;
      await apply(database, table, request);
      asOf.set(request.view, request.asOf);
      if (isNew) onShown();
      await tidy(database, table, request);
    },
    async unchanged(views, time) {
      if (views.length === 0) return;
      const list = views.map(quoteText).join(", ");
      await run(
        `update copy.views set as_of = ${time} where name in (${list}) and state is not null`,
      );
      for (const view of views) if (asOf.has(view)) asOf.set(view, time);
    },
  };
}

async function apply(
  database: Pick<CopyDatabase, "query">,
  table: TableOfView,
  { remove, state, asOf }: ApplyRequest,
): Promise<void> {
  const { id, view, isShown } = table;
  const shown = isShown ? [] : [viewOf(table), ...comments(view)];
  const empty = `truncate copy.n${id}, copy.g${id}`;
  const kept = `update copy.views set state = ${quoteText(state)}, as_of = ${asOf} where id = ${id}`;
  if (remove.kind === "all") {
    await database.query(write(...exchange(table), ...shown, empty, kept));
    table.dead = 0;
  } else {
    const condition =
      remove.kind === "where"
        ? `(${remove.condition})`
        : `(_load, _row) in (select _load, _row from copy.g${id})`;
    const removed = `with removed as (delete from copy.t${id} where ${condition} returning 1) select count(*) from removed`;
    const inserted = `insert into copy.t${id} select * from copy.n${id}`;
    const [counted] = await database.query(write(removed, inserted, ...shown, empty, kept));
    table.dead += Number(counted?.[0] ?? 0);
  }
  table.isShown = true;
  table.hasAdded = false;
}

/** Keeps the plans of readers good. The new rows are there, whether it fails or not. */
async function tidy(
  database: Pick<CopyDatabase, "query">,
  table: TableOfView,
  { remove }: ApplyRequest,
): Promise<void> {
  if (remove.kind === "all") await database.query(`analyze copy.t${table.id}`);
  if (table.dead < VACUUM_ROWS) return;
  table.dead = 0;
  await database.query("set default_transaction_read_only = off");
  await database.query(`vacuum (analyze) copy.t${table.id}`);
  await database.query("reset default_transaction_read_only");
}

function preparation(mark: string): string[] {
  return [
    "create schema if not exists copy",
    "create schema if not exists data",
    "revoke all on schema public from public",
    "revoke temporary on database postgres from public",
    "create table if not exists copy.mark (mark text)",
    `insert into copy.mark select ${quoteText(mark)} where not exists (select from copy.mark)`,
    "create table if not exists copy.views (id integer generated always as identity primary key," +
      " name text not null unique, shape text not null, state text, as_of bigint)",
  ];
}

function removal(name: string, id: number): string[] {
  return [
    `drop view if exists data.${quoteName(name)}`,
    `drop table if exists copy.t${id}, copy.n${id}, copy.g${id}`,
    `delete from copy.views where id = ${id}`,
  ];
}

type Run = (...statements: string[]) => Promise<(string | null)[][]>;

async function create(run: Run, view: FedView): Promise<TableOfView> {
  const [row] = await run(
    `insert into copy.views (name, shape) values (${quoteText(view.name)}, ${quoteText(shapeOf(view))}) returning id`,
  );
  const id = Number(row?.[0]);
  const made = definition(view);
  await run(
    `create table copy.t${id} (${made})`,
    `create table copy.n${id} (${made})`,
    `create table copy.g${id} (_load integer, _row bigint)`,
    ...indexes(view, `copy.t${id}`),
  );
  return { id, view, dead: 0, isShown: false, hasAdded: false };
}

/** The new rows become the table, and the view reads them from now on. */
function exchange(table: TableOfView): string[] {
  const { id, view } = table;
  return [
    `alter table copy.t${id} rename to o${id}`,
    `alter table copy.n${id} rename to t${id}`,
    ...indexes(view, `copy.t${id}`),
    viewOf(table),
    `drop table copy.o${id}`,
    `create table copy.n${id} (${definition(view)})`,
  ];
}

function viewOf({ id, view }: TableOfView): string {
  return `create or replace view data.${quoteName(view.name)} as select ${names(view)} from copy.t${id}`;
}

function definition(view: FedView): string {
  const columns = view.columns.map(({ name, type }) => `${quoteName(name)} ${type}`);
  return [...columns, ...hidden(view)].join(", ");
}

/** The key, the hidden key, and every time or day: what most filters name. */
function indexes(view: FedView, table: string): string[] {
  const times = view.columns
    .filter(({ type, name }) => /^(timestamp|date)/.test(type) && name !== view.key[0])
    .map(({ name }) => [name]);
  const sets = [view.datasetId !== null ? ["_load", "_row"] : [], view.key, ...times];
  return sets
    .filter((columns) => columns.length > 0)
    .map((columns) => `create index on ${table} (${columns.map(quoteName).join(", ")})`);
}

function commentOf({ name, comment }: FedView): string {
  const text = comment === null ? "null" : quoteText(comment);
  return `comment on view data.${quoteName(name)} is ${text}`;
}

function comments(view: FedView): string[] {
  const name = `data.${quoteName(view.name)}`;
  const columns = view.columns.flatMap(({ name: column, comment }) =>
    comment === null
      ? []
      : [`comment on column ${name}.${quoteName(column)} is ${quoteText(comment)}`],
  );
  return [commentOf(view), ...columns];
}
