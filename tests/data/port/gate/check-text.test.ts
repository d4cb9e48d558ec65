import { PGlite } from "@electric-sql/pglite";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTextCheck } from "../../../../src/data/port/gate/check-text.ts";
import { ALSO_ALLOWED, portCatalog } from "../../../../src/data/port/gate/port-policy.ts";
import { randomBase62 } from "../../../../src/lib/id.ts";
import {
  FUNCTION_CATALOG_SQL,
  type FunctionCatalog,
  readFunctionCatalog,
} from "../../../../src/lib/sql-gate/postgres/function-catalog.ts";
import {
  ALLOWED_VOLATILE,
  EXCLUDED_FUNCTIONS,
} from "../../../../src/lib/sql-gate/postgres/function-lists.ts";
import { createRandom } from "../../../support/faults/random.ts";
import { databaseServerUrl } from "../../../support/servers/databases/database-server.ts";
import { createDatabase } from "../../../support/servers/databases/test-database.ts";
import { BI_CLIENT_QUERIES } from "../../../support/sql/bi-client-queries.ts";
import { mutateStatement, POSTGRES_NAMES } from "../../../support/sql/mutate-statement.ts";
import { PORT_PASSES, PORT_REFUSED, PORT_TABLES } from "../../../support/sql/port-statements.ts";

const SEED = 20_261_124;
const MUTATIONS = 4;
const OPTIONS = { timeoutSeconds: 30 };
const ROLE = `reader_${randomBase62(8).toLowerCase()}`;

interface Server {
  /** Runs one message of statements on the one session. */
  readonly run: (text: string) => Promise<readonly Record<string, unknown>[]>;
  readonly close: () => Promise<void>;
}

async function openServer(url: string): Promise<Server> {
  const own = await createDatabase(url);
  const client = postgres(own.url, { max: 1, onnotice: () => undefined });
  return {
    run: async (text) => [...(await client.unsafe(text).simple())],
    close: async () => {
      await client.unsafe("reset role");
      await client.unsafe(`drop owned by ${ROLE}; drop role ${ROLE}`).catch(() => undefined);
      await client.end();
      await own.drop();
    },
  };
}

async function openEmbedded(): Promise<Server> {
  const database = await PGlite.create();
  return {
    run: async (text) => (await database.exec(text)).at(-1)?.rows ?? [],
    close: () => database.close(),
  };
}

const servers = [
  ...(databaseServerUrl === undefined
    ? []
    : [{ name: "the server", open: () => openServer(databaseServerUrl as string) }]),
  { name: "the embedded PostgreSQL", open: openEmbedded },
];

describe.each(servers)("The gate of the port with the functions of $name", ({ name, open }) => {
  let server: Server;
  let catalog: FunctionCatalog;
  const check = createTextCheck();
  const verdictOf = (text: string) => check(text, catalog, OPTIONS);
  const becomeReader = () =>
    server.run(`set role ${ROLE}; set search_path = data; set default_transaction_read_only = on`);

  /** DISCARD ALL takes the role back as well. */
  const becomeOwner = () => server.run("discard all");

  /** Runs a text as a plain role, in a session as new. */
  const runAsReader = async (text: string) => {
    await becomeReader();
    try {
      await server.run(text);
    } finally {
      await server.run("rollback").catch(() => undefined);
      await becomeOwner();
    }
  };

  beforeAll(async () => {
    server = await open();
    for (const statement of PORT_TABLES) await server.run(statement);
    await server.run(`create role ${ROLE} noinherit; grant usage on schema data to ${ROLE};
      grant select on all tables in schema data to ${ROLE}; reset search_path`);
    const rows = await server.run(FUNCTION_CATALOG_SQL);
    catalog = readFunctionCatalog(rows.map(({ list, schema, names }) => [list, schema, names]));
  });
  afterAll(() => server.close());

  it("passes what clients write to read, and a plain role runs it", async () => {
    expect(PORT_PASSES.length).toBeGreaterThanOrEqual(145);
    const failures: unknown[] = [];
    for (const statement of PORT_PASSES) {
      const { refusal } = await verdictOf(statement);
      if (refusal !== undefined) failures.push([statement, refusal]);
      // The embedded one is built without XML.
      if (name !== "the server" && /xml|xpath/.test(statement)) continue;
      await runAsReader(statement).catch((thrown: Error) =>
        failures.push([statement, thrown.message]),
      );
    }
    expect(failures).toEqual([]);
  }, 60_000);

  it("refuses whatever does more than read, with an SQLSTATE and a hint", async () => {
    expect(PORT_REFUSED.length).toBeGreaterThanOrEqual(150);
    const passed: unknown[] = [];
    for (const statement of PORT_REFUSED) {
      const { refusal } = await verdictOf(statement);
      const isTold =
        refusal !== undefined &&
        /^(42501|42601|54001|22021)$/.test(refusal.code) &&
        refusal.message.length > 8 &&
        refusal.hint.length > 8;
      if (!isTold) passed.push([statement, refusal]);
    }
    expect(passed).toEqual([]);
  });

  it.each(Object.entries(BI_CLIENT_QUERIES))(
    "passes what %s asks at its start and to show schemas, and a plain role runs it",
    async (client, texts) => {
      const failures: unknown[] = [];
      for (const text of texts) {
        const { refusal } = await verdictOf(text);
        if (refusal !== undefined) failures.push([text, refusal]);
        // psqlODBC sends these one after another in one session.
        if (client === "psqlOdbc" && /SQL_CUR/.test(text)) continue;
        await runAsReader(text).catch((thrown: Error) => failures.push([text, thrown.message]));
      }
      expect(failures).toEqual([]);
    },
    30_000,
  );

  it("refuses every function that the role could run and the list excludes, in every notation", async () => {
    const excluded = `^(${EXCLUDED_FUNCTIONS.join("|").replaceAll("*", ".*")})$`;
    const volatile = ALLOWED_VOLATILE.map((one) => `'${one}'`).join(", ");
    const called = [...ALSO_ALLOWED].filter((one) => one !== "set_config");
    const also = called.map((one) => `'${one}'`).join(", ");
    const functions = await server.run(`
      select distinct n.nspname as schema, p.proname as name, n.nspname in ('pg_catalog', 'information_schema') as is_own
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where pg_catalog.has_function_privilege('${ROLE}', p.oid, 'execute')
        and p.proname not in (${also})
        and (n.nspname not in ('pg_catalog', 'information_schema') or p.prokind = 'p' or p.proname ~ '${excluded}'
          or (p.provolatile = 'v' and p.proname not in (${volatile})))`);
    const passed: string[] = [];
    let count = 0;
    for (const { schema, name: called, is_own: isOwn } of functions) {
      for (const statement of callForms(`${schema}`, `${called}`, isOwn === true)) {
        count += 1;
        if ((await verdictOf(statement)).refusal === undefined) passed.push(statement);
      }
    }
    // Alone, in which form pools reset a session by it.
    expect(passed).toEqual(['select "pg_advisory_unlock_all"()']);
    expect(functions.length).toBeGreaterThan(100);
    const allowed = portCatalog(catalog).safeFunctions.get("pg_catalog")?.size;
    // biome-ignore lint/suspicious/noConsole: prints the list
    console.info(
      `${name}: ${allowed} functions of pg_catalog may be called; refused, though the role could run them, ${functions.length} in ${count} statements: ${functions.map(({ name: called }) => called).join(" ")}`,
    );
  });

  describe("keeps from a query what others have", () => {
    const refusalOf = async (text: string) =>
      (await check(text, catalog, { ...OPTIONS, isOneQuery: true })).refusal;

    beforeAll(() =>
      server.run(`create view data.salaries_of_board as select 1 as secret_column;
        comment on view data.salaries_of_board is 'secret comment'`),
    );
    afterAll(() => server.run("drop view data.salaries_of_board"));

    /** Some views of information_schema are closed to a plain role: they bring no rows. */
    const readAsReader = async (text: string) => {
      await becomeReader();
      const rows = await server.run(text).catch(() => []);
      await becomeOwner();
      return rows;
    };

    it.each([
      "select relname, obj_description(oid) from pg_class",
      "select attname from pg_catalog.pg_attribute",
      "explain select * from pg_views",
      "table pg_roles",
      "select application_name from pg_stat_activity",
      "with pg_class as (select 1) select * from pg_class",
      "select 'data.salaries_of_board'::regclass",
      "select '{data.salaries_of_board}'::regclass[], '{}'::_regclass",
      "select regclass('data.salaries_of_board')",
      "select regclassin('data.salaries_of_board')",
      "select array_in('{16385,16386}', 2205, -1)",
      "select 16385::regtype, cast(10 as regrole)",
      "select to_regclass('data.salaries_of_board') is null",
      "select has_table_privilege('data.salaries_of_board', 'select')",
      "select pg_catalog.obj_description(16385)",
      "select (16385).obj_description",
      "select x.pg_get_viewdef from (select 16385::oid as y) as x",
      "select format_type(16385, null)",
      "select null::data.salaries_of_board",
      "select row_to_json(null::salaries_of_board)",
      "select * from json_to_record('{}') as x(a salaries_of_board)",
      "select pg_input_is_valid('1', 'data.salaries_of_board')",
      "select makeaclitem(10, 10, 'select', false)",
    ])("%s", async (text) => {
      expect(await refusalOf(text)).toMatchObject({
        code: "42501",
        hint: expect.stringMatching(/information_schema|another type|Check its name/),
      });
    });

    it("and no function that knows names is left", async () => {
      const functions = await server.run(`
        select distinct proname as name from pg_proc
        where pronamespace = 'pg_catalog'::regnamespace and exists (
          select from unnest(proargtypes::oid[] || prorettype || coalesce(proallargtypes, '{}')) as part (type)
          where format_type(type, null) ~ '^(reg(?!config|dictionary)|aclitem)')`);
      expect(functions.length).toBeGreaterThan(50);
      for (const { name: called } of functions) {
        // It tells the type of a value that the query has.
        if (called === "pg_typeof") continue;
        expect(await refusalOf(`select "${called}"(1)`), `${called}`).toBeDefined();
      }
    });

    it("and lets it ask information_schema, which has what the role may read", async () => {
      const views = await server.run(
        "select relname as name from pg_class where relnamespace = 'information_schema'::regnamespace and relkind = 'v'",
      );
      const refused: unknown[] = [];
      for (const { name: view } of views) {
        const text = `select * from information_schema."${view}"`;
        if ((await refusalOf(text)) !== undefined) refused.push(view);
        else expect(JSON.stringify(await readAsReader(text)), text).not.toMatch(/secret|salaries/);
      }
      expect(refused).toEqual(["udt_privileges"]);
      const rows = await readAsReader("select table_name from information_schema.tables");
      expect(rows).toContainEqual({ table_name: "customers" });
    });

    it("and nothing else", async () => {
      for (const text of [
        "select pg_typeof(1), pg_size_pretty(5), pg_is_in_recovery(), regexp_replace('a', 'b', 'c')",
        "select regr_slope(1, 2), '{1}'::int[], '{a}'::_text, date '2026-11-23', 'a'::char(3), 1::\"char\"",
        "select to_tsvector('english'::regconfig, 'a'), x.has_it from (select true as has_it) as x",
        "select * from data.pg_sales",
        "explain select count(*) from customers",
        "show server_version",
      ]) {
        expect(await refusalOf(text), text).toBeUndefined();
      }
    });
  });

  it("refuses a statement in whatever form it is written", async () => {
    const random = createRandom(SEED);
    for (const statement of PORT_REFUSED.filter((one) => !/e'|\\|\0/i.test(one))) {
      for (let count = 0; count < MUTATIONS; count += 1) {
        const changed = mutateStatement(statement, random, POSTGRES_NAMES);
        const { refusal } = await verdictOf(changed);
        if (refusal === undefined) expect.fail(`seed ${SEED}: passed ${JSON.stringify(changed)}`);
      }
    }
  });

  it("leaves a reader of pg_roles and pg_stat_activity without passwords and statements of others", async () => {
    await becomeReader();
    const roles = await server.run("select distinct rolpassword from pg_roles");
    expect(roles).toEqual([{ rolpassword: "********" }]);
    const others = await server.run(
      "select query from pg_stat_activity where usename <> current_user and query not in ('', '<insufficient privilege>')",
    );
    expect(others).toEqual([]);
    await becomeOwner();
  });
});

/** A function of the database's own may share its short name with one of PostgreSQL's. */
function callForms(schema: string, name: string, isOwn: boolean): readonly string[] {
  const qualified = `"${schema}"."${name}"`;
  const called = isOwn ? `"${name}"` : qualified;
  return [
    `select ${called}()`,
    `select ${qualified}(1, 'a')`,
    `select * from ${called}(1)`,
    `select * from rows from (${qualified}(1, 2)) as x`,
    `select ${called}(distinct 1) filter (where true) over (partition by 2)`,
    `declare c cursor for values (array[${called}(variadic array[1])])`,
    `prepare p as select coalesce(null, ${called}(a => 1))`,
    `execute p(${qualified}($1))`,
  ];
}
