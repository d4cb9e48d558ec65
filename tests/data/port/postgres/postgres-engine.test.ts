import { spawn } from "node:child_process";
import { Client } from "pg";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openPostgresEngine } from "../../../../src/data/port/postgres/postgres-engine.ts";
import { query } from "../../../../src/data/port/protocol/frontend-messages.ts";
import {
  canMakeCertificates,
  makeCertificate,
} from "../../../support/processes/make-certificate.ts";
import { databaseServerUrl } from "../../../support/servers/databases/database-server.ts";
import {
  type PostgresCluster,
  startPostgresCluster,
} from "../../../support/servers/databases/postgres-cluster.ts";
import {
  createDataDatabase,
  type DataDatabase,
  runAsAdmin,
  untilActive,
} from "../session/data-database.ts";
import { refuseSome } from "../session/fake-gates.ts";
import { openRawClient } from "../session/raw-client.ts";
import { openTrustListener, type TrustListener } from "../session/trust-listener.ts";

describe.skipIf(databaseServerUrl === undefined || !canMakeCertificates)(
  "sessions on a server with TLS and SCRAM",
  () => {
    const failures: unknown[] = [];
    const engine = openPostgresEngine({
      mostSessions: 50,
      mostRunning: null,
      now: () => Date.now(),
      failed: (thrown) => failures.push(thrown),
    });
    let cluster: PostgresCluster;
    let database: DataDatabase;
    let listener: TrustListener;
    let url: string;

    beforeAll(async () => {
      const certificate = makeCertificate("IP:127.0.0.1");
      const started = await startPostgresCluster({ tls: certificate });
      certificate.remove();
      if (started === undefined) throw new Error("PostgreSQL is not installed.");
      cluster = started;
      database = await createDataDatabase(cluster.url);
      const admin = new Client({ connectionString: cluster.url });
      await admin.connect();
      const { rows } = await admin.query<{ hba_file: string }>("show hba_file");
      await admin.query(
        `copy (values ('host all postgres all trust'), ('hostssl all all all scram-sha-256')) to '${rows[0]?.hba_file}'`,
      );
      await admin.query("select pg_reload_conf()");
      await admin.end();
      url = `${database.url}?sslmode=require`;
      listener = await openTrustListener({ engine, check: refuseSome, url });
    });
    afterAll(async () => {
      await listener?.close();
      await engine.close();
      await cluster?.remove();
    });

    const clientUrl = () =>
      `postgres://anybody@127.0.0.1:${listener.port}/any?application_name=tool`;

    test("pg reads, and sees what the server said at the login", async () => {
      const client = new Client({ connectionString: clientUrl(), options: "" });
      await client.connect();
      const { rows } = await client.query("select n from numbers where n < $1 order by n", [4]);
      expect(rows).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
      const shown = await client.query(
        "select current_setting('application_name') as name, ssl from pg_stat_ssl where pid = pg_backend_pid()",
      );
      expect(shown.rows).toEqual([{ name: "bi test: tool", ssl: true }]);
      await client.end();
    });

    test("postgres sends 40 queries at once on 4 connections, and reads by a cursor", async () => {
      const sql = postgres(clientUrl(), { max: 4, onnotice: () => undefined });
      const many = Array.from({ length: 40 }, async (_, index) => {
        if (index % 5 !== 0) return (await sql`select n from numbers where n = ${index}`)[0]?.["n"];
        return await sql
          .unsafe("select FORBIDDEN")
          .catch((thrown: { code: string }) => thrown.code);
      });
      expect(await Promise.all(many)).toEqual(
        Array.from({ length: 40 }, (_, index) => (index % 5 === 0 ? "42501" : index)),
      );
      const sizes: number[] = [];
      await sql`select n from numbers where n <= 250`.cursor(100, (rows) => {
        sizes.push(rows.length);
      });
      expect(sizes).toEqual([100, 100, 50]);
      await sql.end();
    });

    test("psql goes on after a refused statement", async () => {
      const input = "select 1 as one;\nselect FORBIDDEN;\nselect 2 as two;\n\\d numbers\n";
      const { stdout, stderr } = await runPsql(clientUrl(), input);
      expect(stderr).toContain("Not here.");
      expect(stdout).toMatch(/one[\s\S]*two[\s\S]*label\s+\|\s+text/);
    });

    test("a cancel reaches the server over TLS", async () => {
      const client = await openRawClient(listener.port);
      client.send(query("select pg_sleep(60)"));
      await untilActive(database);
      listener.sessions.at(-1)?.cancel();
      expect(await client.shorthand()).toBe("T E(57014) Z(I)");
      client.socket.destroy();
    });

    test("a role that appears a moment later logs in", async () => {
      const role = `late_${database.role}`;
      const late = new URL(url);
      late.username = role;
      late.password = "late";
      const own = await openTrustListener({ engine, check: refuseSome, url: late.href });
      const opening = openRawClient(own.port);
      await expect.poll(() => own.port).toBeGreaterThan(0);
      await runAsAdmin(database.adminUrl, `create role ${role} login password 'late'`);
      const client = await opening;
      client.socket.destroy();
      await own.close();
    });

    test.each([
      ["53300", "connection limit 0", "too many connections of a role"],
      ["28000", "nologin", "a role that may not log in"],
    ])("%s: %s is refused", async (code, change) => {
      await runAsAdmin(database.adminUrl, `alter role ${database.role} ${change}`);
      const refused = new Client({ connectionString: clientUrl() });
      await expect(refused.connect()).rejects.toMatchObject({ code });
      await runAsAdmin(database.adminUrl, `alter role ${database.role} login connection limit -1`);
    });

    test("a server that crashes ends its sessions with 57P0x, and new ones open after its start", async () => {
      const client = await openRawClient(listener.port);
      client.send(query("select 1"));
      await client.answers();
      await cluster.stop("immediate");
      expect(await client.shorthand()).toMatch(/^(N )?E\(57P0[123]\)$/);
      await client.closed;
      await expect(openRawClient(listener.port)).rejects.toThrow("E(57P03)");
      await cluster.start();
      const again = await openRawClient(listener.port);
      again.send(query("select 1"));
      expect(await again.shorthand()).toBe("T D C(SELECT 1) Z(I)");
      again.socket.destroy();
    });
  },
);

async function runPsql(url: string, input: string) {
  const psql = spawn("psql", ["-X", url], { stdio: "pipe" });
  const output = { stdout: "", stderr: "" };
  psql.stdout.on("data", (bytes: Buffer) => {
    output.stdout += bytes.toString();
  });
  psql.stderr.on("data", (bytes: Buffer) => {
    output.stderr += bytes.toString();
  });
  psql.stdin.end(input);
  await new Promise((resolve) => psql.once("close", resolve));
  return output;
}
