import { sql as rawSql } from "drizzle-orm";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkPostgres } from "../../../../src/lib/sql-gate/postgres/check-postgres.ts";
import {
  FUNCTION_CATALOG_SQL,
  type FunctionCatalog,
  readFunctionCatalog,
} from "../../../../src/lib/sql-gate/postgres/function-catalog.ts";
import {
  ALLOWED_VOLATILE,
  EXCLUDED_FUNCTIONS,
} from "../../../../src/lib/sql-gate/postgres/function-lists.ts";
import { parsePostgres } from "../../../../src/lib/sql-gate/postgres/parse-postgres.ts";
import { TOOL_POLICY } from "../../../../src/tools/connections/check-statement.ts";
import { createRandom } from "../../../support/faults/random.ts";
import { databaseServerUrl } from "../../../support/servers/databases/database-server.ts";
import {
  createDatabase,
  openEmbeddedInMemory,
} from "../../../support/servers/databases/test-database.ts";
import { mutateStatement, POSTGRES_NAMES } from "../../../support/sql/mutate-statement.ts";
import {
  POSTGRES_READS,
  POSTGRES_REFUSED,
  POSTGRES_TABLES,
} from "../../../support/sql/postgres-statements.ts";

const EXCLUDED = `^(${EXCLUDED_FUNCTIONS.join("|").replaceAll("*", ".*")})$`;
const SEED = 20_261_123;
const MUTATIONS = 12;
/** Enough for statements without functions. */
const EMPTY = readFunctionCatalog([
  ["safe_function", "pg_catalog", "[]"],
  ["safe_operator", "pg_catalog", '["+", "-"]'],
]);

interface Server {
  readonly ask: (statement: string) => Promise<readonly Record<string, unknown>[]>;
  readonly close: () => Promise<void>;
}

async function openServer(url: string): Promise<Server> {
  const own = await createDatabase(url);
  const client = postgres(own.url, { max: 1, onnotice: () => undefined });
  return {
    ask: async (statement) => [...(await client.unsafe(statement))],
    close: async () => {
      await client.end();
      await own.drop();
    },
  };
}

async function openEmbedded(): Promise<Server> {
  const { db, close } = await openEmbeddedInMemory();
  return {
    ask: async (statement) => [
      ...((await db.execute(rawSql.raw(statement))) as Iterable<Record<string, unknown>>),
    ],
    close,
  };
}

async function readCatalog({ ask }: Server): Promise<FunctionCatalog> {
  const rows = await ask(FUNCTION_CATALOG_SQL);
  return readFunctionCatalog(rows.map(({ list, schema, names }) => [list, schema, names]));
}

const servers = [
  ...(databaseServerUrl === undefined
    ? []
    : [{ name: "the server", open: () => openServer(databaseServerUrl as string) }]),
  { name: "the embedded PostgreSQL", open: openEmbedded },
];

describe.each(servers)("The gate with the functions of $name", ({ name, open }) => {
  let server: Server;
  let catalog: FunctionCatalog;
  const check = (statement: string) => checkPostgres(statement, catalog, TOOL_POLICY);
  const passing = async (statements: readonly string[]) => {
    const passed: string[] = [];
    for (const statement of statements) {
      const { refusal } = await check(statement);
      if (refusal === undefined) passed.push(statement);
    }
    return passed;
  };

  beforeAll(async () => {
    server = await open();
    for (const statement of POSTGRES_TABLES) await server.ask(statement);
    catalog = await readCatalog(server);
  });
  afterAll(() => server.close());

  it("passes what people write to read, and the server runs it", async () => {
    expect(POSTGRES_READS.length).toBeGreaterThan(90);
    const failures: unknown[] = [];
    for (const statement of POSTGRES_READS) {
      const { refusal } = await check(statement);
      if (refusal !== undefined) failures.push([statement, refusal]);
      // The embedded one is built without XML.
      if (name !== "the server" && /xml|xpath/.test(statement)) continue;
      await server.ask(statement).catch((thrown: Error) => {
        failures.push([statement, (thrown.cause as Error | undefined)?.message ?? thrown.message]);
      });
    }
    expect(failures).toEqual([]);
  });

  it("refuses whatever does more than read, with a hint", async () => {
    expect(POSTGRES_REFUSED.length).toBeGreaterThan(150);
    for (const statement of POSTGRES_REFUSED) {
      const { refusal } = await check(statement);
      expect([statement, refusal]).toEqual([
        statement,
        {
          message: expect.stringMatching(/^.{8,400}$/s),
          hint: expect.stringMatching(/^.{8,200}$/),
        },
      ]);
    }
  });

  it("refuses every volatile or excluded function in every notation", async () => {
    const functions = await server.ask(`
      select distinct n.nspname as schema, p.proname as name from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where (p.provolatile = 'v' and p.proname not in (${ALLOWED_VOLATILE.map((one) => `'${one}'`).join(", ")}))
        or p.proname ~ '${EXCLUDED}' or p.prokind = 'p'`);
    const fields = await server.ask(`
      select distinct p.proname as name from pg_proc p where p.provolatile = 'v'
        and p.pronargs - p.pronargdefaults <= 1 and p.pronargs >= 1 and p.proargtypes[0] <> 'internal'::regtype
        and p.proname not in (${ALLOWED_VOLATILE.map((one) => `'${one}'`).join(", ")})`);
    const operators = await server.ask(`
      select n.nspname as schema, o.oprname as name from pg_operator o join pg_namespace n on n.oid = o.oprnamespace
      join pg_proc p on p.oid = o.oprcode where p.provolatile = 'v'`);
    const statements = [
      ...functions.flatMap(({ schema, name: called }) => functionForms(`${schema}`, `${called}`)),
      ...fields.flatMap(({ name: field }) => fieldForms(`${field}`)),
      ...operators.flatMap(({ schema, name: operator }) => [
        `select 1 ${operator} 2`,
        `select 1 operator(${schema}.${operator}) 2`,
        `select 1 ${operator} any (array[1])`,
        `select (1, 1) ${operator} (select 1, 2)`,
        `select 1 order by 1 using ${operator}`,
      ]),
    ];
    expect(await passing(statements)).toEqual([]);
    expect(functions.length).toBeGreaterThan(200);
    expect(operators.length).toBeGreaterThan(0);
    // biome-ignore lint/suspicious/noConsole: says how much was shown
    console.info(
      `${name}: refused ${functions.length} functions, ${fields.length} of them as fields, and ${operators.length} operators in ${statements.length} statements`,
    );
  });

  it("passes the functions that only read, in the same notations", async () => {
    const functions = await server.ask(`
      select n.nspname as schema, p.proname as name from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      group by 1, 2 having bool_and(p.provolatile <> 'v') and bool_and(p.prokind in ('f', 'a', 'w'))
        and p.proname !~ '${EXCLUDED}' and p.proname not in ('current_setting', 'lower', 'touch_all', 'setting_of')`);
    const statements = functions.flatMap(({ schema, name: called }) =>
      functionForms(`${schema}`, `${called}`).slice(0, 3),
    );
    const passed = new Set(await passing(statements));
    expect(statements.filter((statement) => !passed.has(statement))).toEqual([]);
    expect(functions.length).toBeGreaterThan(2_000);
  });

  it("refuses a statement in whatever form it is written", async () => {
    const random = createRandom(SEED);
    const statements = POSTGRES_REFUSED.filter((statement) => !/^\W*$|e'|\\|\0/i.test(statement));
    let unparsed = 0;
    for (const statement of statements) {
      for (let count = 0; count < MUTATIONS; count += 1) {
        const changed = mutateStatement(statement, random, POSTGRES_NAMES);
        const { refusal } = await check(changed);
        if (refusal === undefined) expect.fail(`seed ${SEED}: passed ${JSON.stringify(changed)}`);
        if (refusal.message.includes("cannot parse")) unparsed += 1;
      }
    }
    // They are refused for what they do, and not because the changes broke them.
    expect(unparsed).toBeLessThan(0.1 * MUTATIONS * statements.length);
  });

  it("refuses operators that are only implied when the database has a volatile one of that name", async () => {
    const poisoned: FunctionCatalog = {
      ...catalog,
      unsafeOperators: new Map([["public", new Set(["=", "<="])]]),
    };
    for (const statement of [
      "select 1 in (1, 2)",
      "select 1 in (select 1)",
      "select case 1 when 1 then 2 end",
      "select nullif(1, 2)",
      "select 1 between 1 and 2",
      "select * from customers join canary using (id)",
      "select * from customers natural join canary",
      "select 1 is distinct from 2",
      "select (1, 2) = (3, 4)",
    ]) {
      expect((await checkPostgres(statement, poisoned, TOOL_POLICY)).refusal?.hint).toMatch(
        /OPERATOR\(pg_catalog/,
      );
      expect((await check(statement)).refusal).toBeUndefined();
    }
    const qualified = "select 1 operator(pg_catalog.=) 2";
    expect((await checkPostgres(qualified, poisoned, TOOL_POLICY)).statement).toBe("select");
  });
});

function functionForms(schema: string, name: string): readonly string[] {
  const quoted = `"${name}"`;
  return [
    `select ${quoted}()`,
    `select "${schema}".${quoted}(1, 'a')`,
    `select * from ${quoted}(1)`,
    `select * from rows from ("${schema}".${quoted}(1, 2)) as x`,
    `select 1 where exists (select from customers c, lateral ${quoted}(c.id) y)`,
    `select ${quoted}(distinct 1) filter (where true) over (partition by 2)`,
    `values (array[${quoted}(variadic array[1])])`,
    `explain select coalesce(null, ${quoted}(a => 1))`,
  ];
}

function fieldForms(name: string): readonly string[] {
  return [
    `select (1)."${name}"`,
    `select x."${name}" from generate_series(1, 2) x`,
    `select (x.y)."${name}"[1] from z`,
    `select (row(1, 2))."${name}".b`,
  ];
}

describe("The parser of the gate", () => {
  const deep = (count: number) => `select ${"(select ".repeat(count)}1${")".repeat(count)}`;

  it("refuses what is nested too deeply, and reads the next statement as before", async () => {
    const before = await parsePostgres("select a + 1 from t");
    for (const statement of [
      deep(50_000),
      deep(1_700),
      `select ${"1+".repeat(8_000)}1`,
      `select ${"- ".repeat(8_000)}a`,
      `select ${"not ".repeat(4_000)}true`,
      `select array${"[".repeat(8_000)}1${"]".repeat(8_000)}`,
      `select 1 ${"union select 1 ".repeat(1_050)}`,
    ]) {
      const policy = { ...TOOL_POLICY, maxBytes: 1_000_000 };
      const { refusal } = await checkPostgres(statement, EMPTY, policy);
      expect(refusal?.message).toBe("The statement is nested too deeply.");
      expect(await parsePostgres("select a + 1 from t")).toEqual(before);
    }
    expect((await checkPostgres(deep(100), EMPTY, TOOL_POLICY)).statement).toBe("select");
  });

  it("serves statements that arrive together with one that breaks it", async () => {
    const policy = { ...TOOL_POLICY, maxBytes: 1_000_000 };
    const all = [1, 2, 3, 4].map((number) =>
      checkPostgres(number % 2 === 0 ? deep(1_700) : "select 1", EMPTY, policy),
    );
    expect((await Promise.all(all)).map(({ statement }) => statement)).toEqual([
      "select",
      undefined,
      "select",
      undefined,
    ]);
  });

  it("is not asked about texts that are too long or that others would read differently", async () => {
    const refusalOf = async (statement: string, maxBytes = 16_384) =>
      (await checkPostgres(statement, EMPTY, { ...TOOL_POLICY, maxBytes })).refusal?.message;
    expect(await refusalOf(`select '${"x".repeat(16_384)}'`)).toMatch(/16393 bytes.*16384/);
    expect(await refusalOf(`select '${"ä".repeat(90)}'`, 100)).toMatch(/189 bytes/);
    const { refusal } = await checkPostgres(`select '${"x".repeat(8_192)}'`, EMPTY, TOOL_POLICY);
    expect(refusal?.message).toMatch(/8201 bytes, more than the 8192 allowed/);
    expect(await refusalOf("select 1\0; drop table x")).toMatch(/NUL/);
    expect(await refusalOf("select '\ud800'")).toMatch(/surrogate/);
    expect(await refusalOf("selec 1")).toMatch(
      /cannot parse the statement: syntax error at or near/,
    );
  });

  it("reads only the statements that a policy names, and parameters where it takes them", async () => {
    const policy = { ...TOOL_POLICY, statements: new Set(["select"] as const) };
    expect((await checkPostgres("show server_version", EMPTY, policy)).refusal?.message).toMatch(
      /SHOW is refused here/,
    );
    const withParameters = { ...TOOL_POLICY, takesParameters: true };
    expect((await checkPostgres("select $1", EMPTY, withParameters)).statement).toBe("select");
  });
});

describe("The catalog of functions", () => {
  it("is read from its rows, and nothing else is taken for one", () => {
    expect(() => readFunctionCatalog([])).toThrow(/incomplete/);
    expect(() => readFunctionCatalog([["other", "a", "[]"]])).toThrow(/no list 'other'/);
    expect(() => readFunctionCatalog([["unsafe_type", "", "{}"]])).toThrow(/no list/);
  });
});
