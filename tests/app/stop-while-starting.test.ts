import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { logIn } from "../support/clients/http-session.ts";
import { createOwnDatabase } from "../support/servers/databases/test-database.ts";
import { startGateway, stopWhileStarting } from "../support/servers/start-gateway.ts";

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

it("a first start that is stopped before it is complete keeps the secrets that it has made", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "stopped-start-"));
  cleanUps.push(() => rm(dataDir, { recursive: true, force: true }));
  const database = await createOwnDatabase();
  if (database !== undefined) cleanUps.push(database.drop);
  const environment = {
    DATA_DIR: dataDir,
    LLM_BASE_URL: "http://127.0.0.1:9",
    DATABASE_URL: database?.url ?? "",
  };
  const { code, output } = await stopWhileStarting(environment, '"license"');
  // Or the start was complete before the signal.
  expect([0, 143], output).toContain(code);
  const next = await startGateway(environment);
  cleanUps.push(next.stop);
  const file = join(dataDir, "first-start.txt");
  await expect.poll(() => existsSync(file)).toBe(true);
  const [, password = ""] =
    /admin logs in with the password (\S+)\n/.exec(readFileSync(file, "utf8")) ?? [];
  expect(await logIn(next.url, "admin", password)).toMatch(/^ses_/);
});
