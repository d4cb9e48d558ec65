import { parse as parseCsv } from "csv-parse/sync";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RUN_LIMITS } from "../../../../src/data/port/queries/run-limits.ts";
import type { ReadRequest } from "../../../../src/data/process/process-messages.ts";
import { openReadStage, PRINCIPAL, readRequest, textOf } from "../../../support/data/read-stage.ts";
import { databaseServerUrl } from "../../../support/servers/databases/database-server.ts";
import {
  createDatabase,
  type OwnDatabase,
} from "../../../support/servers/databases/test-database.ts";

describe.skipIf(databaseServerUrl === undefined)("a read in the data process", () => {
  let database: OwnDatabase;
  let stage: Awaited<ReturnType<typeof openReadStage>>;
  let sql: postgres.Sql;

  beforeAll(async () => {
    database = await createDatabase(databaseServerUrl ?? "");
    sql = postgres(database.url, { max: 1 });
    stage = await openReadStage(database.url);
  });
  afterAll(async () => {
    await stage.close();
    await sql.end();
    await database.drop();
  });

  const ask = (more: Partial<ReadRequest>, signal = new AbortController().signal) =>
    stage.process.request("/read", readRequest(more), signal);
  const read = async (more: Partial<ReadRequest>) => {
    const { status, body } = await ask(more);
    return { status, text: await textOf(body) };
  };
  const json = async (more: Partial<ReadRequest>) => {
    const { status, text } = await read(more);
    return { status, body: JSON.parse(text) };
  };
  const lastStatement = () => expect.poll(() => stage.statements.at(-1), { timeout: 10_000 });

  const VALUES = `select 1::int4 as i, 9007199254740991::int8 as safe, 9007199254740993::int8 as large, -5::int8 as minus,
    12.50::numeric as price, 'NaN'::numeric as nan, 1.5::float8 as f, 'Infinity'::float8 as inf, 1e-7::float8 as small,
    true as yes, null::text as none, ''::text as empty, E'a"b\\\\c\\n\\tü\\u0001' as text, date '2026-11-23' as day,
    timestamptz '2026-11-23 14:05:00.5+02' as t3, timestamptz '2026-11-23 14:05:00.123456Z' as t6,
    timestamptz 'infinity' as ever, timestamp '2026-11-23 14:05:00' as local,
    '{"a": [1, 2.50]}'::jsonb as b, E'{"a":\\n1}'::json as j, '\\x00ff'::bytea as bytes, interval '90 minutes' as span,
    array[1,2] as list, 1 as i`;

  it("writes every type as JSON, and names the columns apart", async () => {
    const { body } = await json({ sql: VALUES });
    expect(body.data).toEqual([
      {
        ...{ i: 1, safe: 9007199254740991, large: "9007199254740993", minus: -5 },
        ...{ price: "12.50", nan: "NaN", f: 1.5, inf: "Infinity", small: 1e-7, yes: true },
        ...{ none: null, empty: "", text: 'a"b\\c\n\tü\u0001', day: "2026-11-23" },
        ...{ t3: "2026-11-23T12:05:00.500Z", t6: "2026-11-23T14:05:00.123456Z", ever: "infinity" },
        ...{ local: "2026-11-23T14:05:00.000", b: { a: [1, 2.5] }, j: { a: 1 } },
        ...{ bytes: "\\x00ff", span: "PT1H30M", list: "{1,2}", i_2: 1 },
      },
    ]);
    expect(body).toMatchObject({ has_more: false, next: null, as_of: "2026-11-23T00:00:00.000Z" });
    expect(body.columns.slice(0, 5)).toEqual([
      { name: "i", type: "integer" },
      { name: "safe", type: "bigint" },
      { name: "large", type: "bigint" },
      { name: "minus", type: "bigint" },
      { name: "price", type: "numeric" },
    ]);
  });

  it("writes the same values as lines of JSON", async () => {
    const [line, rest] = (await read({ sql: VALUES, format: "ndjson" })).text.split("\n");
    expect([JSON.parse(line ?? "")]).toEqual((await json({ sql: VALUES })).body.data);
    expect(rest).toBe("");
  });

  it("writes CSV that a reader of CSV reads back as it was", async () => {
    const texts = [
      "a",
      "",
      " a",
      "a ",
      'a"b',
      "a,b",
      "a\r\nb",
      "=1+1",
      "# error",
      "ü€😀",
      "\t",
      "-1",
    ];
    const list = `select * from unnest($1::text[], $2::text[]) as t (one, other)`;
    const values = [texts, [...texts].reverse()].map(
      (items) =>
        `{${items
          .map((item) => JSON.stringify(item))
          .join(",")
          .replaceAll("\\r", "\r")
          .replaceAll("\\n", "\n")
          .replaceAll("\\t", "\t")}}`,
    );
    const { text } = await read({ sql: list, values, format: "csv" });
    const expected = texts.map((one, index) => [one, texts.at(-1 - index)]);
    expect(parseCsv(text)).toEqual([["one", "other"], ...expected]);
    expect(text).not.toMatch(/^#/m);
    const safe = parseCsv(
      (await read({ sql: list, values, format: "csv", spreadsheet: true })).text,
    );
    expect((safe as string[][]).map(([one]) => one)).toEqual([
      ...[
        "one",
        "a",
        "",
        " a",
        "a ",
        'a"b',
        "a,b",
        "a\r\nb",
        "'=1+1",
        "# error",
        "ü€😀",
        "'\t",
        "'-1",
      ],
    ]);
    const nulls = await read({ sql: "select null as a, '' as b, -1 as c", format: "csv" });
    expect(nulls.text).toBe('a,b,c\r\n,"",-1\r\n');
  });

  it("passes parameters as texts, whatever they contain", async () => {
    const values = ["'; drop table x; --", "12", null, "true"];
    const asked = {
      sql: "select $1::text as a, $2::int + 1 as b, $3::text as c, not $4::bool as d",
      values,
    };
    expect((await json(asked)).body.data).toEqual([{ a: values[0], b: 13, c: null, d: false }]);
  });

  it("answers a page of JSON with has_more, and streams CSV in goes to its end", async () => {
    const many = "select n, repeat('x', 20) as t from generate_series(1, 5000) as n";
    const page = (await json({ sql: many, rows: 3 })).body;
    expect(page).toMatchObject({ has_more: true, next: null });
    expect(page.data).toHaveLength(3);
    const all = (await read({ sql: many, format: "csv" })).text.split("\r\n");
    expect(all).toHaveLength(5_002);
    expect((await read({ sql: many, format: "ndjson", rows: 700 })).text.split("\n")).toHaveLength(
      701,
    );
    // The session went on with the next read.
    await lastStatement().toMatchObject({ outcome: "ok", rows: 700 });
  });

  it.each(["csv", "ndjson"] as const)(
    "cuts %s at the row limit with a line that says so",
    async (format) => {
      const principal = { ...PRINCIPAL, rowLimit: 1_000 };
      const { body } = await ask({
        sql: "select n, repeat('x', 100) as t from generate_series(1, 100000) as n",
        principal,
        format,
      });
      let text = "";
      const whole = (async () => {
        for await (const chunk of body) text += Buffer.from(chunk).toString();
      })();
      await expect(whole).rejects.toThrow();
      const lines = text.trimEnd().split(/\r?\n/);
      expect(lines).toHaveLength(format === "csv" ? 1_002 : 1_001);
      if (format === "csv") expect(lines.at(-1)).toMatch(/^# error 54000: .*1000 rows/);
      else expect(JSON.parse(lines.at(-1) ?? "").error).toMatchObject({ sqlstate: "54000" });
      await lastStatement().toMatchObject({ outcome: "cut", code: "54000", rows: 1_000 });
    },
  );

  it("answers an error of the database after many rows with a line, and one before with a status", async () => {
    const late =
      "select 1 / (60000 - n) as x, repeat('x', 50) as t from generate_series(1, 100000) as n";
    const { status, body } = await ask({ sql: late, format: "ndjson" });
    expect(status).toBe(200);
    let text = "";
    await expect(
      (async () => {
        for await (const chunk of body) text += Buffer.from(chunk).toString();
      })(),
    ).rejects.toThrow();
    expect(JSON.parse(text.trimEnd().split("\n").at(-1) ?? "").error).toMatchObject({
      sqlstate: "22012",
    });
    const early = await json({
      sql: "select 1 / (3 - n) as x from generate_series(1, 10) as n",
      format: "csv",
    });
    expect(early).toMatchObject({ status: 422, body: { code: "22012" } });
    await lastStatement().toMatchObject({ outcome: "error", code: "22012" });
    const wrong = await json({ sql: "select nonsense" });
    expect(wrong.body).toMatchObject({ code: "42703", position: 8 });
  });

  it("refuses what the gate refuses, and what is not one statement", async () => {
    expect((await json({ sql: "delete from x where id = 3" })).body.code).toBe("42501");
    await lastStatement().toMatchObject({
      outcome: "refused",
      text: "delete from x where id = $1",
    });
    expect((await json({ sql: "select 1; select 2" })).body).toMatchObject({ code: "42601" });
    expect((await json({ sql: " ; " })).body).toMatchObject({ code: "42601" });
    expect((await json({ sql: "select 1" })).status).toBe(200);
  });

  it("only reads, and sets its own time", async () => {
    await sql`create table if not exists written (n int)`;
    const { body } = await json({ sql: "insert into written values (1)" });
    expect(body.code).toBe("25006");
    const shown = await json({ sql: "show statement_timeout" });
    expect(shown.body.data).toEqual([{ statement_timeout: "30s" }]);
    const principal = { ...PRINCIPAL, timeoutSeconds: 1 };
    const slow = await json({ sql: "select pg_sleep(20)", principal });
    expect(slow.body.code).toBe("57014");
    await lastStatement().toMatchObject({ outcome: "cut", code: "57014" });
  });

  it("cancels the statement when the client leaves", async () => {
    const leaving = new AbortController();
    const asked = ask({ sql: "select pg_sleep(60) /* left */" }, leaving.signal);
    const running = async () =>
      (
        await sql`select 1 from pg_stat_activity where query like '%/* left */%' and state = 'active' and pid <> pg_backend_pid()`
      ).length;
    await expect.poll(running).toBe(1);
    leaving.abort();
    await expect(asked).rejects.toThrow();
    await expect.poll(running, { timeout: 10_000 }).toBe(0);
    await lastStatement().toMatchObject({ outcome: "cancelled" });
  });

  it("holds little for a client that stalls, and ends the statement after a while", async () => {
    const limits = { ...RUN_LIMITS, stallMs: 300 };
    const other = await openReadStage(database.url, { limits });
    const signal = new AbortController().signal;
    const request = readRequest({
      sql: "select repeat('x', 1000) as t from generate_series(1, 1000000)",
      format: "csv",
    });
    const { body } = await other.process.request("/read", request, signal);
    await expect
      .poll(() => other.statements.at(-1), { timeout: 20_000 })
      .toMatchObject({ outcome: "cut", code: "57014" });
    let bytes = 0;
    let last = "";
    await expect(
      (async () => {
        for await (const chunk of body) {
          bytes += chunk.length;
          last = `${last}${Buffer.from(chunk).toString()}`.slice(-1_000);
        }
      })(),
    ).rejects.toThrow();
    expect(bytes).toBeLessThan(20 * 1024 * 1024);
    expect(last).toContain("# error 57014");
    await other.close();
  });

  const ROWS = "select n, repeat('x', 90) as t from generate_series(1, 5000) n";

  it("comes in small goes at the pace, as whole as without", async () => {
    const goes: number[] = [];
    const timeMs = (bytes: number) => {
      goes.push(bytes);
      return 1;
    };
    const paced = await openReadStage(database.url, { pace: { goBytes: () => 20_000, timeMs } });
    const asked = { sql: ROWS, format: "csv" } as const;
    const { body } = await paced.process.request(
      "/read",
      readRequest(asked),
      new AbortController().signal,
    );
    expect(await textOf(body)).toBe((await read(asked)).text);
    const [, ...later] = goes;
    expect(later.length).toBeGreaterThan(10);
    expect(Math.max(...later)).toBeLessThan(25_000);
    await paced.close();
  });

  it("ends when its client leaves in a pause", async () => {
    const pace = { goBytes: () => 20_000, timeMs: () => 3_600_000 };
    const paced = await openReadStage(database.url, { pace });
    const leaving = new AbortController();
    const request = readRequest({ sql: ROWS, format: "csv" });
    const { body } = await paced.process.request("/read", request, leaving.signal);
    for await (const chunk of body) {
      expect(chunk.length).toBeGreaterThan(0);
      break;
    }
    leaving.abort();
    await expect
      .poll(() => paced.statements.at(-1), { timeout: 10_000 })
      .toMatchObject({ outcome: "cancelled" });
    await paced.close();
  });

  it("refuses a row that is too large, and goes on with another session", async () => {
    const { body } = await json({ sql: "select repeat('x', 70000000) as t" });
    expect(body.code).toBe("54000");
    expect((await json({ sql: "select 1 as n" })).body.data).toEqual([{ n: 1 }]);
  });

  it("refuses more reads at once than the key may have, and ends those of a key that is revoked", async () => {
    const principal = { ...PRINCIPAL, id: "bik_two", maxConnections: 2 };
    const slow = [1, 2].map(() => json({ sql: "select pg_sleep(60)", principal }));
    await expect
      .poll(async () => (await json({ sql: "select 1", principal })).body.code)
      .toBe("53300");
    expect((await json({ sql: "select 1 as n" })).status).toBe(200);
    stage.end(["bik_two"], "The key was revoked.");
    for (const answer of await Promise.all(slow)) expect(answer.body.code).toBe("57P01");
  });
});
