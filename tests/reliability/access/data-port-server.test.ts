import { readdirSync, readFileSync } from "node:fs";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import {
  password,
  query,
  RawConnection,
  READY,
  startup,
} from "../../data/port/connections/port-stage.ts";
import { callHttp, logIn } from "../../support/clients/http-session.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import {
  type PostgresCluster,
  startPostgresCluster,
} from "../../support/servers/databases/postgres-cluster.ts";
import { startGateway, type TestGateway } from "../../support/servers/start-gateway.ts";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const KEYS = 10;
const CONNECTIONS = trialSize(300, 1_000);
/** PostgreSQL's own default, half of which is for readers. */
const SERVER_CONNECTIONS = 100;
const PLACES = SERVER_CONNECTIONS / 2;
const MB = 1024 * 1024;

const cluster = await startPostgresCluster({ maxConnections: SERVER_CONNECTIONS });

describe.skipIf(cluster === undefined)("the PostgreSQL port on a server of its own", () => {
  const { url, stop, start } = (cluster ?? {}) as PostgresCluster;
  let gateway: TestGateway;
  let token: string;

  beforeAll(async () => {
    gateway = await startGateway({
      DATABASE_URL: url,
      ADMIN_PASSWORD: "a good password",
      BIKEY_PG_PROXY_ENABLED: "1",
      BIKEY_PG_PROXY_PORT: "0",
    });
    token = await logIn(gateway.url, "admin", "a good password");
    await untilOpen();
  });
  afterAll(async () => {
    await gateway?.stop();
    await cluster?.remove();
  });

  const untilOpen = () =>
    vi.waitFor(
      async () => {
        const { body } = await callHttp(gateway.url, { path: "/api/ready" });
        expect(body).toMatchObject({ bi: "open", checks: { db: true } });
      },
      { timeout: 120_000, interval: 100 },
    );
  const issue = async (): Promise<{ readonly key: string; readonly port: number }> => {
    const { body } = await callHttp(gateway.url, {
      ...{ method: "POST", path: "/v1/bi-keys", token },
      body: { name: "report", datasets: ["*"] },
    });
    return { key: body.key, port: Number(new URL(body.connections.uri).port) };
  };
  const open = async ({ key, port }: { readonly key: string; readonly port: number }) => {
    const connection = await RawConnection.open(port);
    connection.send(startup(), password(key));
    return connection;
  };
  const list = () => callHttp(gateway.url, { path: "/v1/bi-keys?limit=1", token });

  it("lets in what it has places for, and refuses the others of a crowd with 53300", async () => {
    const keys = await Promise.all(Array.from({ length: KEYS }, issue));
    const admitted: RawConnection[] = [];
    const refused: string[] = [];
    const crowd = Array.from({ length: CONNECTIONS }, async (_, index) => {
      const connection = await open(keys[index % KEYS] as (typeof keys)[number]);
      try {
        await connection.until(READY);
        admitted.push(connection);
      } catch {
        refused.push(/C([0-9A-Z]{5})\0/.exec(connection.received)?.[1] ?? connection.received);
      }
    });
    // The gateway's own connections to the same server are not taken by them.
    const own = await Promise.all(Array.from({ length: 20 }, list));
    await Promise.all(crowd);
    expect(own.map(({ status }) => status)).toEqual(own.map(() => 200));
    expect([...new Set(refused)]).toEqual(["53300"]);
    expect(admitted).toHaveLength(PLACES);
    for (const connection of admitted) connection.send(query("select 1"));
    await Promise.all(admitted.map((connection) => connection.until("SELECT 1")));
    for (const { socket } of admitted) socket.destroy();
    await Promise.all(admitted.map(({ closed }) => closed));
    const next = await issue();
    await vi.waitFor(async () => (await open(next)).until(READY), { timeout: 60_000 });
  });

  it("holds little of a result of 1 GB whose reader has stopped", async () => {
    const connection = await open(await issue());
    await connection.until(READY);
    const before = memoryMb();
    connection.socket.pause();
    connection.send(query("select repeat('x', 1000) from generate_series(1, 1000000)"));
    const admin = new pg.Client({ connectionString: url });
    await admin.connect();
    const stalled = "select from pg_stat_activity where wait_event = 'ClientWrite'";
    await expect.poll(async () => (await admin.query(stalled)).rowCount).toBe(1);
    await admin.end();
    const most = memoryMb() - before;
    // biome-ignore lint/suspicious/noConsole: the figure is what is asked for
    console.info(`a stalled reader of 1 GB: ${most.toFixed(1)} MB more`);
    expect(most).toBeLessThan(100);
    connection.socket.destroy();
  });

  it("tells clients that PostgreSQL was restarted, and lets them in again", async () => {
    const issued = await issue();
    const { key, port } = issued;
    const client = new pg.Client({ host: "127.0.0.1", port, user: "any", password: key });
    const ended = new Promise((resolve) =>
      client.on("error", (error: Error & { readonly code?: string }) => resolve(error.code)),
    );
    await client.connect();
    await stop("fast");
    expect(await ended).toBe("57P01");
    await start();
    await vi.waitFor(async () => (await open(issued)).until(READY), {
      ...{ timeout: 120_000, interval: 200 },
    });
    await untilOpen();
  });

  /** Of the gateway and of the process that serves the port. */
  function memoryMb(): number {
    const children = readdirSync("/proc").filter((name) => {
      if (!/^\d+$/.test(name)) return false;
      const stat = readProcess(name, "stat");
      return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]) === gateway.pid;
    });
    const kilobytes = [String(gateway.pid), ...children].map((pid) =>
      Number(/^VmRSS:\s+(\d+)/m.exec(readProcess(pid, "status"))?.[1] ?? 0),
    );
    return kilobytes.reduce((sum, one) => sum + one, 0) / (MB / 1024);
  }
});

/** Empty for a process that has ended. */
function readProcess(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}
