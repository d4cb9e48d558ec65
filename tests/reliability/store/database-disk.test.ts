import { spawnSync } from "node:child_process";
import { userInfo } from "node:os";
import postgres from "postgres";
import { afterAll, describe, expect, vi } from "vitest";
import { createCaseTable } from "../../support/case-table.ts";
import { callGateway } from "../../support/clients/call-gateway.ts";
import { expectChatError } from "../../support/clients/expect-chat-error.ts";
import { startSteadyLoad } from "../../support/clients/load/steady-load.ts";
import { compareAnswers } from "../../support/compare-answers.ts";
import { fillDisk } from "../../support/faults/fill-disk.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import {
  type PostgresCluster,
  startPostgresCluster,
} from "../../support/servers/databases/postgres-cluster.ts";
import type { TestGateway } from "../../support/servers/start-gateway.ts";
import { watchServer } from "../../support/servers/watch-server.ts";
import { type DatabaseStage, openDatabaseStage } from "../../support/stages/database-stage.ts";
import { readUsageRows } from "../../support/stages/usage/stored-usage.ts";

const DISK_MB = 32;
const REQUESTS_PER_SECOND = 40;
const FULL_MS = trialSize(2_000, 6_000);
const EVENTUALLY = { timeout: 120_000, interval: 50 };
const NOT_STORED = "usage cannot be written to the database";
const STORED_AGAIN = "usage is written to the database again";

vi.setConfig({ testTimeout: 120_000 });
const { shows, leavesOut } = createCaseTable({
  D02: `the database's disk full for ${FULL_MS / 1_000} s under ${REQUESTS_PER_SECOND} requests/s`,
});
const mayMount = userInfo().uid === 0 && spawnSync("unshare", ["-m", "true"]).status === 0;

const server = mayMount ? await startPostgresCluster({ smallDiskMb: DISK_MB }) : undefined;
let stage: DatabaseStage | undefined;
afterAll(async () => {
  await stage?.close();
  await server?.remove();
});

function fullDisk(server: PostgresCluster): void {
  shows(
    "D02",
    "chat, disk of the database full",
    "usage waits in the journal, said once; nothing is lost",
    async () => {
      // The test may run once more.
      await stage?.close();
      const { path, seenFromOutside } = server.smallDisk();
      const databaseUrl = await createDatabaseOn(server, path);
      stage = await openDatabaseStage({ server, databaseUrl });
      const { gateway } = stage;
      const watch = watchServer(gateway);
      const load = startSteadyLoad({ port: gateway.port, requestsPerSecond: REQUESTS_PER_SECOND });
      await vi.waitFor(() => expect(load.sent.length).toBeGreaterThan(20), EVENTUALLY);

      const ballast = fillDisk(seenFromOutside);
      try {
        await vi.waitFor(() => expect(gateway.output()).toContain(NOT_STORED), EVENTUALLY);
        await new Promise((resolve) => setTimeout(resolve, FULL_MS));
        // A busy machine may be late with a check of the moment; a full disk alone is no reason to be unready.
        await vi.waitFor(async () => {
          const ready = await callGateway(gateway.port, { method: "GET", path: "/api/ready" });
          expect(ready.status).toBe(200);
        }, EVENTUALLY);
        await expectRefusedWrites(gateway);
      } finally {
        ballast.free();
      }

      await vi.waitFor(() => expect(gateway.output()).toContain(STORED_AGAIN), EVENTUALLY);
      const sent = await load.stop();
      expect(new Set(sent.map(({ status }) => status))).toEqual(new Set([200]));
      const store = { DATA_DIR: "", DATABASE_URL: databaseUrl };
      await vi.waitFor(
        async () => expect((await readUsageRows(store)).length).toBe(sent.length),
        EVENTUALLY,
      );
      const figures = compareAnswers(sent, await readUsageRows(store));
      // biome-ignore lint/suspicious/noConsole: the figures are what is asked for
      console.info(`D02 ${JSON.stringify({ ...figures, ...(await watch.finish()) })}`);
      expect(figures).toMatchObject({ lost: [], wrong: [], leftWrong: [], cut: 0, unseenRows: 0 });
      const said = gateway.output().split("\n");
      expect(said.filter((line) => line.includes(NOT_STORED))).toHaveLength(1);
      expect(said.filter((line) => line.includes(STORED_AGAIN))).toHaveLength(1);
      expect(said.find((line) => line.includes(NOT_STORED))).toContain("53100");
    },
  );
}

/** A database whose every file is on that disk. */
async function createDatabaseOn(server: PostgresCluster, disk: string): Promise<string> {
  const sql = postgres(server.url, { max: 1, onnotice: () => undefined });
  await sql.unsafe("drop database if exists on_small_disk with (force)");
  await sql.unsafe("drop tablespace if exists small");
  await sql.unsafe(`create tablespace small location '${disk}'`);
  await sql.unsafe("create database on_small_disk tablespace small");
  await sql.end();
  const url = new URL(server.url);
  url.pathname = "on_small_disk";
  return url.href;
}

/** Keys are made until the disk refuses one, which has to be the refusal of a store that is away. */
async function expectRefusedWrites({ port }: TestGateway): Promise<void> {
  for (let made = 0; made < 500; made += 1) {
    const response = await callGateway(port, {
      path: "/v1/api-keys",
      body: { name: "x".repeat(100) },
    });
    if (response.status === 201) continue;
    expectChatError(response, 503, "storage_unavailable");
    expect(Number(response.header("retry-after"))).toBeGreaterThanOrEqual(1);
    return;
  }
  throw new Error("the disk never refused");
}

describe("a server whose database has no disk left", () => {
  const why = "left out: no right to mount a small disk, or no PostgreSQL";
  if (server === undefined) leavesOut("D02", "chat, disk of the database full", why);
  else fullDisk(server);
});
