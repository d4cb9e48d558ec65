import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  bind,
  execute,
  parse,
  query,
  sync,
} from "../../../../src/data/port/protocol/frontend-messages.ts";
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
const ann = principal("bik_ann");
const bob = principal("bik_bob", { views: ["secrets"] });
const open = (who = ann, parameters: Record<string, string> = {}) =>
  CopyClient.open(opened.engine, who, parameters);

beforeAll(async () => {
  opened = await openFilledEngine(12_000);
}, 60_000);
afterAll(() => opened?.engine.close());

describe("a session on the embedded copy", () => {
  test("reads its views and no others", async () => {
    const [first, second] = [await open(), await open(bob)];
    expect(await first.rows("select count(*) from numbers")).toEqual([["12000"]]);
    expect(await first.rows("select count(*) from secrets")).toBe("42501");
    expect(await first.rows("select count(*) from copy.t1")).toBe("42501");
    expect(await second.rows("select count(*) from numbers")).toBe("42501");
    expect(await second.rows("select count(*) from secrets")).toEqual([["0"]]);
    expect(await first.rows("create temp table x (a int)")).toBe("25006");
  });

  test("gets a large result whole, with one count at its end", async () => {
    const client = await open();
    const answer = await client.query("select * from numbers order by n");
    expect(tagsOf(answer)).toEqual(["SELECT 12000"]);
    const types = typesOf(answer);
    expect(types).toBe(`T${"D".repeat(12_000)}CZ`);
    expect(rowsOf(answer).at(-1)).toEqual(["12000", "word12000"]);
  });

  test("is answered by rows of its own Execute limits", async () => {
    const client = await open();
    const two = [
      parse("", "select n from numbers"),
      bind("", "", []),
      execute("", 300),
      execute("", 200),
      sync(),
    ];
    const answer = await client.ask(Buffer.concat(two));
    expect(typesOf(answer)).toBe(`12${"D".repeat(300)}s${"D".repeat(200)}sZ`);
  });

  test("runs the statements of a text as one transaction, and tells where one is wrong", async () => {
    const client = await open();
    const answer = await client.query("select 1; show timezone; select 'ä;'; select nothing");
    expect(typesOf(answer)).toBe("TDCTDCTDCEZ");
    expect(answer.at(-2)?.body.toString()).toContain("P46\0");
    expect(typesOf(await client.query(""))).toBe("IZ");
    expect(typesOf(await client.query("select 1; ; select 2;"))).toBe("TDCTDCZ");
  });

  test("keeps what it set, apart from others, until it resets or rolls back", async () => {
    const [first, second] = [await open(ann, { TimeZone: "Asia/Tokyo" }), await open()];
    expect(first.session.parameters.get("TimeZone")).toBe("Asia/Tokyo");
    expect(await second.rows("set timezone = 'Europe/Berlin'")).toEqual([]);
    expect(await first.rows("show timezone")).toEqual([["Asia/Tokyo"]]);
    expect(await second.rows("show timezone")).toEqual([["Europe/Berlin"]]);
    await first.rows("begin; set timezone = 'UTC'; set local datestyle = 'German'");
    await first.rows("rollback");
    expect(await second.rows("show datestyle")).toEqual([["ISO, MDY"]]);
    expect(await first.rows("show timezone")).toEqual([["Asia/Tokyo"]]);
    await second.rows("reset all");
    await first.rows("select 1");
    expect(await second.rows("show timezone")).toEqual([["UTC"]]);
    expect(await second.rows("show search_path")).toEqual([["data"]]);
  });

  test.each([
    "reset timezone; show timezone",
    "set timezone = 'UTC'; reset all; show timezone",
    "set timezone = 'UTC'; set timezone to default",
    "discard all",
  ])("returns to the values of its start by %s", async (sql) => {
    const parameters = {
      TimeZone: "Asia/Tokyo",
      extra_float_digits: "0",
      statement_timeout: "20s",
    };
    const [client, other] = [await open(ann, parameters), await open()];
    await client.rows("set extra_float_digits = 2");
    const shown = await client.rows(sql);
    if (sql.endsWith("show timezone")) expect(shown).toEqual([["Asia/Tokyo"]]);
    const expectValues = async () => {
      const digits = /all/.test(sql) ? "0" : "2";
      expect(await client.rows("show timezone")).toEqual([["Asia/Tokyo"]]);
      expect(await client.rows("show extra_float_digits")).toEqual([[digits]]);
      expect(await client.rows("show statement_timeout")).toEqual([["20s"]]);
    };
    await expectValues();
    await other.rows("select 1");
    await expectValues();
  });

  test("counts all rows of a fetch that takes several goes", async () => {
    const client = await open();
    await client.rows("begin; declare c cursor for select n from numbers");
    expect(tagsOf(await client.query("fetch 120 from c"))).toEqual(["FETCH 120"]);
    expect(tagsOf(await client.query("move 60 in c"))).toEqual(["MOVE 60"]);
    await client.rows("rollback");
  });

  test.each([
    ["a text", (sql: string) => query(sql)],
    ["a Parse", (sql: string) => Buffer.concat([parse("", sql), sync()])],
  ])("runs %s that its parser does not read in no case", async (_, ask) => {
    const client = await open();
    const unread = "set session authorization default }";
    for (const sql of [unread, `execute s1; ${unread}`, "deallocate }"]) {
      const answer = await client.ask(ask(sql));
      expect([rowsOf(answer), typesOf(answer)]).toEqual(["42601", "EZ"]);
      expect(answer[0]?.body.toString()).toContain("could not be read, so it did not run");
    }
    expect(await client.rows("select current_user")).toEqual([["reader_bik_ann"]]);
  });

  test("is told changed parameters", async () => {
    const client = await open();
    expect(typesOf(await client.query("set timezone = 'Asia/Tokyo'"))).toMatch(/^CS+Z$/);
    expect(typesOf(await (await open()).query("select 1"))).toBe("TDCZ");
  });

  test.each([
    "reset timezone",
    "reset all",
    "discard all",
    "set timezone to default",
    "begin; set timezone to default; commit",
  ])("is told of the values of its start by %s", async (sql) => {
    for (const given of [{ TimeZone: "Asia/Tokyo" }, undefined]) {
      const client = await open(ann, given);
      const statements = sql
        .split("; ")
        .flatMap((one) => [parse("", one), bind("", "", []), execute("", 0)]);
      for (const message of [query(sql), Buffer.concat([...statements, sync()])]) {
        await client.rows("set timezone = 'Europe/Berlin'");
        const reports = (await client.ask(message)).flatMap(({ type, body }) =>
          type === "S" ? [body.toString().split("\0").slice(0, 2).join(" ")] : [],
        );
        expect(reports.at(-1)).toBe(`TimeZone ${given?.TimeZone ?? "UTC"}`);
        expect(reports.every((report) => report.startsWith("TimeZone "))).toBe(true);
      }
    }
  });

  test("stays its own reader after DISCARD ALL, by either protocol", async () => {
    const client = await open();
    expect(tagsOf(await client.query("discard all"))).toEqual(["DISCARD ALL"]);
    expect(await client.rows("select current_user")).toEqual([["reader_bik_ann"]]);
    const both = ["discard all", "select count(*) from secrets"].flatMap((sql) => [
      ...[parse("", sql), bind("", "", []), execute("", 0)],
    ]);
    expect(rowsOf(await client.ask(Buffer.concat([...both, sync()])))).toBe("42501");
  });

  test("has statements of its own under names that others use too", async () => {
    const [first, second] = [await open(), await open()];
    await first.ask(Buffer.concat([parse("s", "select 'first'"), sync()]));
    await second.ask(Buffer.concat([parse("s", "select 'second'"), sync()]));
    const run = Buffer.concat([bind("", "s", []), execute("", 0), sync()]);
    const answer = await first.ask(run);
    expect(typesOf(answer)).toBe("2DCZ");
    expect(rowsOf(answer)).toEqual([["first"]]);
    expect(rowsOf(await second.ask(run))).toEqual([["second"]]);
    expect(rowsOf(await first.ask(Buffer.concat([parse("s", "select 1"), sync()])))).toBe("42P05");
    expect(await second.rows("select name from pg_prepared_statements")).toEqual([["s"]]);
    expect(await second.rows("deallocate s")).toEqual([]);
    expect(rowsOf(await first.ask(run))).toEqual([["first"]]);
    expect(rowsOf(await second.ask(run))).toBe("26000");
    await second.rows("prepare two as select 2");
    await first.rows("deallocate all");
    expect(await first.rows("execute two")).toBe("26000");
    expect(await second.rows("execute two")).toEqual([["2"]]);
    expect(rowsOf(await first.ask(run))).toBe("26000");
  });

  test("keeps its unnamed statement from one turn to the next", async () => {
    const [first, second] = [await open(), await open()];
    await first.ask(Buffer.concat([parse("", "select 'mine'"), sync()]));
    await second.rows("select 1");
    const run = Buffer.concat([bind("", "", []), execute("", 0), sync()]);
    expect(rowsOf(await first.ask(run))).toEqual([["mine"]]);
  });

  test("holds the turn for its transaction, while others wait", async () => {
    const [first, second] = [await open(), await open()];
    await first.rows("begin");
    await first.rows("declare c cursor for select n from numbers order by n");
    const waiting = second.rows("select 'waited'");
    expect(await first.rows("fetch 2 from c")).toEqual([["1"], ["2"]]);
    expect(second.messages).toEqual([]);
    await first.rows("commit");
    expect(await waiting).toEqual([["waited"]]);
    expect(await first.rows("fetch 2 from c")).toBe("34000");
  });

  test("ends with its wait when it is cancelled, or closed, before its turn", async () => {
    const [first, second, third] = [await open(), await open(), await open()];
    await first.rows("begin");
    const waiting = second.query("select 1");
    third.session.send(Buffer.concat([parse("", "select 1")]));
    second.session.cancel();
    third.session.close();
    const answer = await waiting;
    expect(typesOf(answer)).toBe("EZ");
    expect(rowsOf(answer)).toBe("57014");
    await first.rows("rollback");
    expect(await second.rows("select 2")).toEqual([["2"]]);
  });

  test("is cancelled between two goes without a cost for others", async () => {
    const client = await open();
    client.isPaused = true;
    client.session.send(
      Buffer.concat([parse("", "select * from numbers"), bind("", "", []), execute("", 0), sync()]),
    );
    await client.until(() => client.messages.some(({ type }) => type === "D"));
    client.session.cancel();
    client.isPaused = false;
    client.session.resume();
    await client.until(() => client.messages.at(-1)?.type === "Z");
    expect(rowsOf(client.messages)).toBe("57014");
    expect(client.messages.at(-1)?.body.toString()).toBe("I");
    expect(opened.exits()).toBe(0);
  });

  test("refuses what cannot be on a shared database", async () => {
    const client = await open();
    expect(await client.rows("set client_encoding = 'latin1'")).toBe("0A000");
    expect(await client.rows("set client_encoding = 'UTF8'")).toEqual([]);
    await expect(open(ann, { client_encoding: "LATIN1" })).rejects.toMatchObject({ code: "0A000" });
  });

  test("keeps the turn while a cursor is open that outlives its transaction", async () => {
    const [client, other] = [await open(), await open(bob)];
    const five = "select n from generate_series(1, 5) as n";
    expect(
      await client.rows(`begin; declare held cursor with hold for ${five}; fetch 2 in held`),
    ).toEqual([["1"], ["2"]]);
    await client.rows("commit");
    const order: string[] = [];
    const asked = other.rows("select 1").then(() => order.push("other"));
    expect(await client.rows("fetch 2 in held")).toEqual([["3"], ["4"]]);
    order.push("fetched");
    await client.rows("close held");
    await asked;
    expect(order).toEqual(["fetched", "other"]);
    expect(await client.rows("fetch held")).toBe("34000");
  });

  test("stays its role, whatever it resets, and remembers what a function has set", async () => {
    const [client, other] = [await open(), await open(bob)];
    for (const reset of [
      "set session authorization default",
      "begin; set session authorization default; rollback",
      "reset session authorization; select pg_advisory_unlock_all(); unlisten *; reset all",
      "discard all",
    ]) {
      expect(typesOf(await client.query(reset))).not.toContain("E");
      expect(await client.rows("select count(*) from secrets")).toBe("42501");
      expect(await client.rows("select current_user::text")).toEqual([["reader_bik_ann"]]);
    }
    const steps = [parse("", "reset session authorization"), bind("", "", []), execute("", 0)];
    const next = [parse("", "select count(*) from secrets"), bind("", "", []), execute("", 0)];
    expect(rowsOf(await client.ask(Buffer.concat([...steps, ...next, sync()])))).toBe("42501");
    await client.rows("select set_config('bytea_output', 'escape', false)");
    await other.rows("select 1");
    expect(await client.rows("show bytea_output")).toEqual([["escape"]]);
  });

  test("reads a new view once its rows are there, also for who has asked for it before", async () => {
    const { engine } = opened;
    const client = await open(principal("bik_eager", { views: ["numbers", "later"] }));
    const later = { ...numbersView, name: "later" };
    const secrets = { ...numbersView, name: "secrets" };
    await engine.applyFeed({ type: "begin", mark: "a", views: [numbersView, secrets, later] });
    // Its role is made here, when there is nothing of the view to grant.
    expect(await client.rows("select count(*) from numbers")).toEqual([["12000"]]);
    expect(await client.rows("select word from later")).toBe("42P01");
    await engine.applyFeed({ type: "rows", view: "later", rows: '{"(1,one)"}' });
    const remove = { kind: "all" } as const;
    await engine.applyFeed({ type: "apply", view: "later", remove, state: "s", asOf: 2000 });
    expect(await client.rows("select word from later")).toEqual([["one"]]);
    await engine.applyFeed({ type: "begin", mark: "a", views: [numbersView, secrets] });
  });

  test("gives the turns in rotation, whoever asks more", async () => {
    const [holder, other] = [await open(), await open(bob)];
    await holder.rows("begin");
    const order: string[] = [];
    const many = await Promise.all(Array.from({ length: 5 }, () => open(principal("bik_many"))));
    const asked = many.map((client) => client.rows("select 1").then(() => order.push("many")));
    asked.push(other.rows("select 1").then(() => order.push("other")));
    await holder.rows("commit");
    await Promise.all(asked);
    expect(order.indexOf("other")).toBeLessThan(3);
  });
});
