import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { callHttp, logIn } from "../support/clients/http-session.ts";
import { startGateway, type TestGateway } from "../support/servers/start-gateway.ts";
import { BI_CLIENT_QUERIES } from "../support/sql/bi-client-queries.ts";

const run = promisify(execFile);
const PROGRAMS = fileURLToPath(new URL("../support/programs/bi-clients/", import.meta.url));
const JDBC = "/usr/share/java/postgresql.jar";
const PYTHON = "/usr/bin/python3";
const ODBC_DRIVER = "/usr/lib/x86_64-linux-gnu/odbc/psqlodbcw.so";
const LIMIT_MS = 100_000;
const VIEWS =
  "datasets keys refusals requests run_steps runs usage_by_day usage_by_hour users workflows".split(
    " ",
  );

const hasPython = (name: string) => existsSync(`/usr/lib/python3/dist-packages/${name}`);

// Each on the database of the run, PostgreSQL or the embedded one's copy.
describe("5 the PostgreSQL port, by clients that know nothing of the gateway", () => {
  let gateway: TestGateway;
  let place: { readonly BI_HOST: string; readonly BI_PORT: string; readonly BI_KEY: string };

  beforeAll(async () => {
    gateway = await startGateway({
      ADMIN_PASSWORD: "a good password",
      BIKEY_PG_PROXY_ENABLED: "1",
      BIKEY_PG_PROXY_PORT: "0",
    });
    const token = await logIn(gateway.url, "admin", "a good password");
    await vi.waitFor(
      async () => {
        const { body } = await callHttp(gateway.url, { path: "/api/ready" });
        expect(body.bi).toBe("open");
      },
      { timeout: LIMIT_MS, interval: 50 },
    );
    const { body } = await callHttp(gateway.url, {
      ...{ method: "POST", path: "/v1/bi-keys", token },
      body: { name: "report", datasets: ["*"] },
    });
    const { port } = new URL(body.connections.uri);
    place = { BI_HOST: "127.0.0.1", BI_PORT: port, BI_KEY: body.key };
    // The first one is refused while the copy of the embedded database is being made.
    await vi.waitFor(
      async () => {
        const client = openPg();
        await client.connect();
        await client.end();
      },
      { timeout: LIMIT_MS, interval: 200 },
    );
  });
  afterAll(() => gateway?.stop());

  const openPg = () => {
    const { BI_HOST: host, BI_PORT: port, BI_KEY: password } = place;
    const ssl = { rejectUnauthorized: false };
    return new pg.Client({ host, port: Number(port), user: "any", password, ssl });
  };
  const start = async (command: string, args: readonly string[]) => {
    // Without a home `isql` crashes, and its driver takes the encoding of the locale.
    const env = { PATH: "/usr/bin:/bin", HOME: tmpdir(), LC_ALL: "C.UTF-8", ...place };
    const { stdout } = await run(command, args, { env, timeout: LIMIT_MS });
    return stdout;
  };
  const python = async (name: string) => JSON.parse(await start(PYTHON, [`${PROGRAMS}${name}.py`]));

  it.skipIf(!hasPython("psycopg2"))("psycopg 2 reads, pages and is refused", async () => {
    expect(await python("read_by_psycopg2")).toMatchObject({
      ...{ row: { one: 1, given: "a'b" }, none: 0, cursor: 312_512_500 },
      ...{ refused: "42501", after: 2, session: ["on", true] },
    });
  });

  it.skipIf(!hasPython("psycopg"))("psycopg 3 prepares, nests and is refused", async () => {
    expect(await python("read_by_psycopg3")).toMatchObject({
      ...{ cursor: 312_512_500, refused: "42501", after: 2, nested: 3 },
    });
  });

  it.skipIf(!hasPython("sqlalchemy"))("SQLAlchemy reflects the schema", async () => {
    const seen = await python("reflect_by_sqlalchemy");
    expect(seen.names).toEqual(VIEWS);
    expect(seen.columns).toMatchObject({ day: "DATE", model: "TEXT", requests: "BIGINT" });
    expect(seen.comment).toMatch(/^Usage by UTC day/);
  });

  it.skipIf(!existsSync(JDBC) || !existsSync("/usr/bin/javac"))(
    "JDBC describes the schema, fetches in pages, prepares and cancels",
    async () => {
      const output = await start("/usr/bin/java", [
        "-cp",
        JDBC,
        `${PROGRAMS}ReadByJdbc.java`,
      ]).catch(
        // A cancelled statement may cost the connection on the embedded copy.
        (thrown: { readonly stdout: string }) => thrown.stdout,
      );
      expect(output).toContain(`tables=[${VIEWS.join(", ")}]`);
      expect(output).toContain("fetched=312512500");
      expect(output).toContain("prepared=210");
      expect(output).toContain("cancelled=57014");
    },
  );

  it.skipIf(!existsSync(ODBC_DRIVER) || !existsSync("/usr/bin/isql"))(
    "psqlODBC fetches by cursors, goes on after a refused statement and describes the schema",
    async () => {
      const { BI_HOST, BI_PORT, BI_KEY } = place;
      const driver = `DRIVER=${ODBC_DRIVER};SERVER=${BI_HOST};PORT=${BI_PORT};DATABASE=data;UID=any`;
      const source = `${driver};PWD=${BI_KEY};SSLmode=require;UseDeclareFetch=1;Fetch=100`;
      const statements = [
        "select n from generate_series(1, 1234) as n",
        "select n from generate_series(1, 2000) as n offset 1998",
        "delete from data.keys",
        "select 'after' as place",
        "help usage_by_day",
      ];
      const output = await start("/bin/sh", [
        "-c",
        `printf '%s\\n' "$@" | isql -b -k '${source}'`,
        "isql",
        ...statements,
      ]);
      for (const text of ["1234 rows fetched", "2 rows fetched", "14 rows fetched", "after"]) {
        expect(output).toContain(text);
      }
    },
  );

  // What the statements name is no dataset here; the gate's test has one.
  const isOfSchema = (text: string) => !/customers|orders|SQL_CUR/.test(text);
  it.each(Object.entries(BI_CLIENT_QUERIES))(
    "%s gets what it asks at its start and to show schemas",
    async (_, texts) => {
      const client = openPg();
      await client.connect();
      const failures: unknown[] = [];
      for (const text of texts.filter(isOfSchema)) {
        await client.query(text).catch((thrown: Error) => failures.push([text, thrown.message]));
        const isSingle = !/;\s*\S/.test(text) && !/^(;|-- ping)$/.test(text);
        if (!isSingle) continue;
        // By the extended protocol, with results in binary, as JDBC and Npgsql ask.
        const extended = {
          text,
          values: [],
          binary: !/acl|\*/.test(text),
          queryMode: "extended",
        } as pg.QueryConfig;
        await client
          .query(extended)
          .catch((thrown: Error) => failures.push([text, thrown.message]));
      }
      await client.end();
      expect(failures).toEqual([]);
    },
  );

  it("psql lists the views, and goes on after a refused statement", async () => {
    const dsn = `host=127.0.0.1 port=${place.BI_PORT} user=report dbname=data sslmode=require password=${place.BI_KEY}`;
    const output = await start("psql", ["-X", "-f", `${PROGRAMS}script.sql`, dsn]);
    for (const view of VIEWS) expect(output).toMatch(new RegExp(`data +\\| ${view} +\\| view`));
    for (const text of ["after the refused one", "after the rollback", "the end"])
      expect(output).toContain(text);
    expect(output).not.toContain("not reached, because the transaction failed\n(");
  });
});
