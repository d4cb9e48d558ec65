import { describe, expect, it } from "vitest";
import { createTextCheck } from "../../../../src/data/port/gate/check-text.ts";
import type { GateOptions } from "../../../../src/data/port/gate/statement-gate.ts";
import { readFunctionCatalog } from "../../../../src/lib/sql-gate/postgres/function-catalog.ts";
import { parsePostgres } from "../../../../src/lib/sql-gate/postgres/parse-postgres.ts";
import { PORT_PASSES, PORT_REFUSED } from "../../../support/sql/port-statements.ts";

const CATALOG = readFunctionCatalog([
  ["safe_function", "pg_catalog", '["upper", "count"]'],
  ["safe_operator", "pg_catalog", '["=", "+", "-", "<", ">"]'],
]);
const OTHER_CATALOG = readFunctionCatalog([["safe_function", "pg_catalog", "[]"]]);
const check = createTextCheck();
const verdictOf = (text: string, options: GateOptions = {}) => check(text, CATALOG, options);
const refusalOf = async (text: string, options?: GateOptions) =>
  (await verdictOf(text, options)).refusal;
const normalized = async (text: string) => (await verdictOf(text)).normalized;

describe("A verdict of the gate", () => {
  it("says what each statement does to its session", async () => {
    const text =
      "select 1; values (2); explain select 1; show timezone; set timezone = 'UTC'; begin; commit; savepoint a; " +
      "declare c cursor for select 1; fetch c; move c; close c; prepare p as select 1; execute p; deallocate p; reset all; discard all";
    expect((await verdictOf(text)).refusal).toBeUndefined();
    expect(await verdictOf(text)).toMatchObject({
      statements:
        "read read read show set begin end savepoint declare fetch fetch close prepare execute deallocate discard discard".split(
          " ",
        ),
    });
    expect(await verdictOf(" ; -- nothing")).toMatchObject({ statements: [] });
  });

  it("lists what one query reads that can only be a view of data", async () => {
    const text = `with own as (select * from calls) select (select 1 from data.days), own.n, t.tables
      from own join "Sheet 1" on true, data.own as t, information_schema.tables`;
    const { refusal, ...passed } = await verdictOf(text, { isOneQuery: true });
    expect(refusal).toBeUndefined();
    const relations = "relations" in passed ? passed.relations : [];
    expect([...relations].sort()).toEqual(["Sheet 1", "calls", "days", "own"]);
    expect(await verdictOf(`explain ${text}`, { isOneQuery: true })).toMatchObject({ relations });
    expect(await verdictOf("select 1 from calls")).toMatchObject({ relations: [] });
  });

  it.each<[string, readonly string[]]>([
    ["with secret as (select n from secret) select * from secret", ["secret"]],
    [
      "with recursive secret as (select 1 as n union select n from secret) select * from secret",
      [],
    ],
    ["with a as (select 1), b as (select * from a, c), c as (select 1) select * from b, c", ["c"]],
    ["select n from secret union all (with secret as (select 1) select * from secret)", ["secret"]],
    ["with a as (select 1) select * from a union select (select 1 from a)", []],
    ["select * from secret where exists (with secret as (select 1) select 1)", ["secret"]],
    ["select * from (with a as (select 1) select * from a) as x, a", ["a"]],
  ])("reads a relation where no WITH has its name: %s", async (text, relations) => {
    expect(await verdictOf(text, { isOneQuery: true })).toMatchObject({ relations });
  });

  it("takes any name for a column that no function of the catalogs has", async () => {
    const text =
      "select o.to_region, o.acl, o.pg_id, data.acl_list.id from data.orders o, data.acl_list";
    expect(await refusalOf(text, { isOneQuery: true })).toBeUndefined();
  });

  it("shows the time of the copy's rows, and no other setting of an application", async () => {
    expect(await refusalOf("show data.as_of")).toBeUndefined();
    expect(await refusalOf("show data.other")).toMatchObject({ code: "42501" });
    expect(await refusalOf("set data.as_of = 'now'")).toMatchObject({ code: "42501" });
  });

  it("gives PostgreSQL's own words for a text that it cannot parse, and where", async () => {
    expect(await refusalOf("select 'äöü😀', from x y z")).toEqual({
      code: "42601",
      message: 'syntax error at or near "from"',
      hint: expect.any(String),
      position: 16,
    });
    expect(await refusalOf("select 1 +")).toMatchObject({ position: 11 });
    expect(await refusalOf("select 'abc")).toMatchObject({
      message: `unterminated quoted string at or near "'abc"`,
      position: 8,
    });
  });

  it("bounds the length, the parts and the depth of a text", async () => {
    expect(await refusalOf(`select '${"x".repeat(131_072)}'`)).toMatchObject({ code: "54000" });
    expect(await refusalOf(`select '${"x".repeat(131_000)}'`)).toBeUndefined();
    expect(await refusalOf(`select 1${",1".repeat(20_000)}`)).toMatchObject({ code: "54000" });
    expect(await refusalOf(`select ${"(select ".repeat(1700)}1${")".repeat(1700)}`)).toMatchObject({
      code: "54001",
    });
    // The lexer of PostgreSQL would take 20 s for each.
    for (const text of ["/*".repeat(60_000), `select ${"+-".repeat(60_000)}1`]) {
      expect(await refusalOf(text)).toMatchObject({ code: "54000" });
    }
    expect(await refusalOf("select '\0'")).toMatchObject({ code: "22021" });
  });

  it("allows one statement that brings rows where it is for a query", async () => {
    const options = { isOneQuery: true };
    for (const text of ["select $1", "table a", "explain select 1", "show timezone;"]) {
      expect(await refusalOf(text, options)).toBeUndefined();
    }
    for (const text of ["", "select 1; select 2", "begin", "set timezone = 'UTC'", "discard all"]) {
      expect(await refusalOf(text, options)).toMatchObject({ code: "42501" });
    }
  });

  it("lets the time limit only be lowered, and where none is known not be changed", async () => {
    const text = "set statement_timeout = '20s'";
    expect(await refusalOf(text, { timeoutSeconds: 20 })).toBeUndefined();
    expect(await refusalOf(text, { timeoutSeconds: 19 })).toMatchObject({
      code: "42501",
      hint: "It can only be lowered: to 1 ms at least and 19 s at most.",
    });
    expect(await refusalOf(text)).toMatchObject({ code: "42501" });
  });

  it("is remembered for the same text, functions and options alone", async () => {
    const text = "select upper('a')";
    const first = await verdictOf(text);
    expect(await verdictOf(text)).toBe(first);
    expect(await verdictOf(text, { isOneQuery: true })).not.toBe(first);
    expect((await check(text, OTHER_CATALOG)).refusal).toBeDefined();
    for (let count = 0; count < 250; count += 1)
      await verdictOf(`select '${count}${"x".repeat(20_000)}'`);
    expect(await verdictOf(text)).not.toBe(first);
  });
});

describe("The text of a verdict", () => {
  it("has neither literals nor comments", async () => {
    const cases: readonly (readonly [string, string])[] = [
      ["select 'a', 1, 2.5e-3 -- secret", "select ?, ..."],
      [
        "SELECT  *\nFROM t /* a /* b */ c */ WHERE x = e'it\\'s' || U&'\\0041'",
        "SELECT * FROM t WHERE x = ? || ?",
      ],
      ["select $$a;b$$, $x$ $$ $x$, b'1', x'1F', n'a'", "select ?, ..."],
      ["select e'a'\n 'b\\'c', $1", "select ?, $1"],
      [
        "select a from t where b in (1,2,3) and c = -5",
        "select a from t where b in (?,...) and c = -?",
      ],
      ["execute p(1, 'secret', a)", "execute p(?, ..., a)"],
      ["prepare p as select 'secret'", "prepare p as select ?"],
      ["set application_name = secret; select 1", "set application_name = ?; select ?"],
      ["set time zone secret", "set time zone ?"],
      ["notify x, 'secret'", "notify x, ?"],
      ["do $$ secret $$", "do ?"],
      ["create role a password 'secret'", "create role a password ?"],
      ["select secret from", "<unreadable>"],
      ['select "a""b"', 'select "a""b"'],
    ];
    for (const [text, expected] of cases)
      expect([text, await normalized(text)]).toEqual([text, expected]);
    const long = await normalized(`select ${"ä, ".repeat(7_000)}a`);
    expect(Buffer.byteLength(long)).toBeLessThanOrEqual(8 * 1024);
    expect(long).toMatch(/ \.\.\.$/);
  });

  it("has no constant of any statement that PostgreSQL reads", async () => {
    let constants = 0;
    for (const text of [...PORT_PASSES, ...PORT_REFUSED]) {
      const statements = await parsePostgres(text).catch(() => []);
      const seen = await normalized(text);
      for (const constant of longConstants(statements)) {
        constants += 1;
        expect([text, seen.includes(constant)]).toEqual([text, false]);
      }
    }
    expect(constants).toBeGreaterThan(50);
  });
});

/** The texts of the constants that cannot be part of a name by chance. */
function longConstants(value: unknown): readonly string[] {
  const found: string[] = [];
  JSON.stringify(value, (key, member: { sval?: { sval?: string } }) => {
    const text = key === "A_Const" ? member.sval?.sval : undefined;
    if (text !== undefined && /[^\w ]/.test(text) && text.length > 3) found.push(text);
    return member;
  });
  return found;
}
