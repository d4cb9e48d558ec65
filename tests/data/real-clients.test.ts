import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { callHttp, logIn } from "../support/clients/http-session.ts";
import { startGateway, type TestGateway } from "../support/servers/start-gateway.ts";

const run = promisify(execFile);
const PROGRAMS = fileURLToPath(new URL("../support/programs/bi-clients/", import.meta.url));
const JDBC = "/usr/share/java/postgresql.jar";
const PYTHON = "/usr/bin/python3";
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
  });
  afterAll(() => gateway?.stop());

  const start = async (command: string, args: readonly string[]) => {
    const env = { PATH: "/usr/bin:/bin", ...place };
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

  it("psql lists the views, and goes on after a refused statement", async () => {
    const dsn = `host=127.0.0.1 port=${place.BI_PORT} user=report dbname=data sslmode=require password=${place.BI_KEY}`;
    const output = await start("psql", ["-X", "-f", `${PROGRAMS}script.sql`, dsn]);
    for (const view of VIEWS) expect(output).toMatch(new RegExp(`data +\\| ${view} +\\| view`));
    for (const text of ["after the refused one", "after the rollback", "the end"])
      expect(output).toContain(text);
    expect(output).not.toContain("not reached, because the transaction failed\n(");
  });
});
