import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { message, text } from "../../../../src/data/port/protocol/fields.ts";
import {
  bind,
  execute,
  parse,
  query,
  sync,
} from "../../../../src/data/port/protocol/frontend-messages.ts";
import { passAll } from "../session/fake-gates.ts";
import { errorOf, openRawClient } from "../session/raw-client.ts";
import { openTrustListener } from "../session/trust-listener.ts";
import {
  CopyClient,
  numbersView,
  openFilledEngine,
  principal,
  rowsOf,
  tagsOf,
  typesOf,
} from "./copy-client.ts";

let opened: Awaited<ReturnType<typeof openFilledEngine>>;
const sales = { ...numbersView, name: "sales" };
const ann = principal("bik_ann", { views: ["numbers", "sales"] });
const open = () => CopyClient.open(opened.engine, ann);
const feed = (views: readonly (typeof sales)[]) =>
  opened.engine.applyFeed({ type: "begin", mark: "a", views: [numbersView, ...views] });
const run = Buffer.concat([bind("", "s1", []), execute("", 0), sync()]);
const prepare = (sql: string) => Buffer.concat([parse("s1", sql), sync()]);

beforeAll(async () => {
  opened = await openFilledEngine(3);
}, 60_000);
afterAll(() => opened?.engine.close());
beforeEach(async () => {
  await feed([sales]);
  const remove = { kind: "all" } as const;
  await opened.engine.applyFeed({ type: "apply", view: "sales", remove, state: "s", asOf: 1000 });
});

/** Two clients; the first one has prepared `s1`, and the other one has had a turn since. */
async function prepared(sql = "select count(*) from sales") {
  const [client, other] = [await open(), await open()];
  expect(typesOf(await client.ask(prepare(sql)))).toBe("1Z");
  return { client, other, turn: () => other.rows("select 1") };
}

async function expectUsable(...clients: readonly CopyClient[]) {
  for (const client of clients) {
    expect(await client.rows("select count(*) from numbers")).toEqual([["3"]]);
    expect(client.over).toBeUndefined();
  }
  expect(opened.exits()).toBe(0);
}

describe("a prepared statement that cannot be prepared again", () => {
  test("is refused in a failed transaction, and runs after it", async () => {
    const { client, other, turn } = await prepared();
    await turn();
    await client.rows("begin");
    expect(await client.rows("select nope")).toBe("42703");
    const answer = await client.ask(run);
    expect([rowsOf(answer), typesOf(answer)]).toEqual(["25P02", "EZ"]);
    expect(answer.at(-1)?.body.toString()).toBe("E");
    expect(tagsOf(await client.query("rollback"))).toEqual(["ROLLBACK"]);
    expect(rowsOf(await client.ask(run))).toEqual([["0"]]);
    await expectUsable(client, other);
  });

  test("is refused while the search path hides its table", async () => {
    const { client, other, turn } = await prepared();
    await client.rows("set search_path = pg_catalog");
    await turn();
    const answer = await client.ask(run);
    expect([rowsOf(answer), typesOf(answer)]).toEqual(["42P01", "EZ"]);
    await client.rows("reset search_path");
    expect(rowsOf(await client.ask(run))).toEqual([["0"]]);
    await expectUsable(client, other);
  });

  test("is refused while its table is gone, by either protocol", async () => {
    const { client, other } = await prepared();
    await feed([]);
    const answer = await client.ask(run);
    expect([rowsOf(answer), typesOf(answer)]).toEqual(["42P01", "EZ"]);
    expect(await client.rows("select 1; execute s1")).toBe("42P01");
    expect(await client.rows("explain execute s1")).toBe("42P01");
    await expectUsable(client, other);
  });

  test("can be removed, and its name be used again", async () => {
    const { client, other } = await prepared();
    await feed([]);
    expect(tagsOf(await client.query("deallocate s1"))).toEqual(["DEALLOCATE"]);
    expect(rowsOf(await client.ask(run))).toBe("26000");
    expect(await client.rows("deallocate s1")).toBe("26000");
    expect(typesOf(await client.ask(prepare("select 7")))).toBe("1Z");
    expect(rowsOf(await client.ask(run))).toEqual([["7"]]);
    await other.rows("select 1");
    const remove = [parse("", "deallocate s1"), bind("", "", []), execute("", 0), sync()];
    expect(tagsOf(await client.ask(Buffer.concat(remove)))).toEqual(["DEALLOCATE"]);
    expect(rowsOf(await client.ask(run))).toBe("26000");
    await expectUsable(client, other);
  });

  test("keeps no other statement from running, and is not in the list of them", async () => {
    const { client, other } = await prepared();
    await client.ask(Buffer.concat([parse("s2", "select 2"), sync()]));
    await client.ask(Buffer.concat([parse("a0", "select 0"), sync()]));
    await feed([]);
    expect(await client.rows("execute s2")).toEqual([["2"]]);
    await other.rows("select 1");
    const names = "select name from pg_prepared_statements order by name";
    expect(await client.rows(names)).toEqual([["a0"], ["s2"]]);
    await other.rows("select 1");
    expect(await client.rows("begin; execute s2; commit")).toEqual([["2"]]);
    await expectUsable(client, other);
  });
});

test.each(["discard all", "deallocate all"])("%s forgets what was prepared before", async (sql) => {
  const { client, other, turn } = await prepared();
  await client.rows("prepare p as select 1");
  await turn();
  expect(typesOf(await client.query(sql))).toBe("CZ");
  expect(rowsOf(await client.ask(run))).toBe("26000");
  expect(await client.rows("execute p")).toBe("26000");
  expect(typesOf(await client.ask(prepare("select 7")))).toBe("1Z");
  await turn();
  expect(rowsOf(await client.ask(run))).toEqual([["7"]]);
  await expectUsable(client, other);
});

test.each([
  ["Execute", "E", [text("")]],
  ["Bind", "B", [text(""), text("")]],
  ["Parse", "P", [text("s2"), text("select 1")]],
  ["Describe", "D", [Buffer.from("S")]],
  ["Close", "C", []],
])("a short %s is a fault of its own client alone", async (_, type, fields) => {
  const listener = await openTrustListener({
    ...{ engine: opened.engine, check: passAll, url: "postgres://unused" },
    principal: { views: ["numbers"] },
  });
  const [bad, good] = [await openRawClient(listener.port), await openRawClient(listener.port)];
  bad.send(parse("", "select 1"), bind("", "", []), message(type, ...fields), sync());
  expect(errorOf(await bad.answers())?.code).toBe("08P01");
  good.send(query("select 1"));
  expect(await good.shorthand()).toBe("T D C(SELECT 1) Z(I)");
  expect(opened.exits()).toBe(0);
  await listener.close();
});

describe("a session", () => {
  test("goes on without a statement of SQL that cannot be prepared again", async () => {
    const { client, other } = await prepared("select 1");
    await client.rows("prepare gone as select count(*) from sales");
    await client.rows("prepare kept as select 2");
    await feed([]);
    await expectUsable(client);
    expect(await client.rows("execute gone")).toBe("26000");
    expect(await client.rows("execute kept")).toEqual([["2"]]);
    expect(tagsOf(await client.query("deallocate all"))).toEqual(["DEALLOCATE ALL"]);
    await expectUsable(client, other);
  });

  test.each(["discard all", "reset all"])("knows the time of its rows after %s", async (sql) => {
    const client = await open();
    const time = [["1970-01-01T00:00:01.000Z"]];
    expect(await client.rows("show data.as_of")).toEqual(time);
    await client.rows(sql);
    expect(await client.rows("show data.as_of")).toEqual(time);
    const messages = [sql, "show data.as_of"].flatMap((text) => [
      ...[parse("", text), bind("", "", []), execute("", 0)],
    ]);
    expect(rowsOf(await client.ask(Buffer.concat([...messages, sync()])))).toEqual(time);
    await client.rows("begin; select 1");
    if (sql === "reset all") expect(await client.rows(`${sql}; show data.as_of`)).toEqual(time);
    await client.rows("rollback");
    expect(await client.rows("show data.as_of")).toEqual(time);
    // The unnamed statement is still the client's.
    const again = Buffer.concat([bind("", "", []), execute("", 0), sync()]);
    await client.ask(Buffer.concat([parse("", sql), again]));
    expect(typesOf(await client.ask(again))).toBe("2CZ");
  });

  test.each([
    "transaction_deferrable = off",
    "transaction_isolation = 'serializable'",
    "transaction_read_only = on",
  ])("goes on after SET %s", async (setting) => {
    const { client, other, turn } = await prepared();
    expect(typesOf(await client.query(`set ${setting}`))).toBe("CZ");
    await turn();
    await expectUsable(client, other);
  });
});
