import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { ApplyRequest, FedView } from "../../../../src/data/copy/copy-messages.ts";
import {
  type CopyDatabase,
  openCopyDatabase,
} from "../../../../src/data/port/copy/copy-database.ts";
import { createCopyTables } from "../../../../src/data/port/copy/copy-tables.ts";
import { emptyArchive } from "../../../support/servers/databases/prepared-database.ts";
import { numbersView } from "./copy-client.ts";

let database: CopyDatabase;
/** The database refuses statements of ours that match. */
let failing: RegExp | undefined;

beforeAll(async () => {
  database = await openCopyDatabase({ folder: null, archive: await emptyArchive() });
}, 60_000);
afterAll(() => database?.close());
beforeEach(() => {
  failing = undefined;
});

const failingDatabase: Pick<CopyDatabase, "query"> = {
  query: (sql) =>
    failing?.test(sql) === true ? Promise.reject(new Error("no memory")) : database.query(sql),
};
const open = () => {
  let shown = 0;
  const tables = createCopyTables(failingDatabase, () => {
    shown += 1;
  });
  return { tables, shown: () => shown };
};
const begin = (view: FedView) => ({ type: "begin" as const, mark: "a", views: [view] });
const applied: ApplyRequest = {
  type: "apply",
  view: "numbers",
  remove: { kind: "all" },
  state: "s",
  asOf: 1000,
};

test("a view whose statistics cannot be collected is shown all the same, and tells so once", async () => {
  const { tables, shown } = open();
  await tables.begin(begin(numbersView));
  await tables.add({ type: "rows", view: "numbers", rows: '{"(1,one)"}' });
  failing = /^analyze/;
  await expect(tables.apply(applied)).rejects.toThrow("no memory");
  expect(shown()).toBe(1);
  expect(tables.asOf.get("numbers")).toBe(1000);
  expect(await database.query("select word from data.numbers")).toEqual([["one"]]);
  failing = undefined;
  await tables.apply({ ...applied, remove: { kind: "where", condition: "true" } });
  expect(shown()).toBe(1);
});

test("a comment that could not be written is written in the next round", async () => {
  const { tables } = open();
  await tables.begin(begin(numbersView));
  const changed = { ...numbersView, comment: "Other numbers." };
  failing = /comment on view/;
  await expect(tables.begin(begin(changed))).rejects.toThrow("no memory");
  failing = undefined;
  await tables.begin(begin(changed));
  const comment = "select obj_description('data.numbers'::regclass)";
  expect(await database.query(comment)).toEqual([["Other numbers."]]);
});
