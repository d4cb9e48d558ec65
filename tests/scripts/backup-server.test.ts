import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { callGateway, chatBody } from "../support/clients/call-gateway.ts";
import { callHttp, logIn } from "../support/clients/http-session.ts";
import { issueKey, readLimitUse, settledUse } from "../support/clients/issue-key.ts";
import { uploadText } from "../support/clients/license-upload.ts";
import { trialSize } from "../support/faults/trial-size.ts";
import { runScript } from "../support/processes/run-script.ts";
import { placeMigratedDatabase } from "../support/servers/databases/prepared-database.ts";
import { openedKind } from "../support/servers/databases/test-database.ts";
import { startGateway, startRefused, type TestGateway } from "../support/servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../support/servers/start-simulator.ts";
import {
  answer,
  startWebhookReceiver,
  type WebhookReceiver,
} from "../support/servers/webhook-receiver.ts";
import { inDays, licenseText, vendor } from "../support/stages/access/test-license.ts";
import { createBackupStage, leaveJournal, storeKinds } from "../support/stages/backup-stage.ts";
import { createMovedClock, type MovedClock } from "../support/stages/moved-clock.ts";

vi.setConfig({ testTimeout: 600_000 });
const MODEL = "sim-chat";
const PASSWORD = "the administrator's password";
const DAY_MS = 86_400_000;
const LICENSE_DAYS = 30;
const AHEAD_DAYS = 20;
const EVENTUALLY_MS = 120_000;

const stage = createBackupStage();
let simulator: TestSimulator;
let receiver: WebhookReceiver;
let clock: MovedClock;

beforeAll(async () => {
  simulator = await startSimulator();
  receiver = await startWebhookReceiver();
  clock = await createMovedClock();
});
afterAll(async () => {
  await simulator.stop();
  await receiver.stop();
  await clock.remove();
  await stage.remove();
});

async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  const until = Date.now() + EVENTUALLY_MS;
  while (!(await holds())) {
    if (Date.now() > until) throw new Error("it never came");
    await sleep(50);
  }
}

async function readBody({ url }: TestGateway, path: string, token: string) {
  const { status, body } = await callHttp(url, { path, token });
  expect([path, status]).toEqual([path, 200]);
  return body;
}

/** What an administrator and the owner of a key see of an installation. */
async function view(gateway: TestGateway, token: string) {
  const read = (path: string) => readBody(gateway, path, token);
  const health = await read("/api/health");
  const { license } = health;
  return {
    users: await read("/api/admin/users"),
    keys: (await read("/v1/api-keys")).data.map(
      ({ last_used_at: _, ...key }: { last_used_at: string }) => key,
    ),
    biKeys: await read("/v1/bi-keys"),
    device: await read("/api/license/device"),
    license: { valid: license.valid, expiresAt: license.expires_at, daysLeft: license.days_left },
  };
}

async function auditActions({ url }: TestGateway, token: string): Promise<readonly string[]> {
  const { body } = await callHttp(url, { path: "/api/admin/audit?limit=100", token });
  return body.data.map(({ id, action }: { id: string; action: string }) => `${id} ${action}`);
}

/** From a kind to the other one, where there are two: both ways in the fault suite, else from the one the tests run on. */
const moves = trialSize([openedKind], storeKinds).map((kind) => ({
  from: kind,
  to: storeKinds.find((other) => other !== kind) ?? kind,
}));

test.each(moves)(
  "what runs on the $from database goes on, on another machine, on the $to one",
  async ({ from, to }) => {
    const common = {
      ...clock.environment,
      LLM_BACKEND: "vllm",
      LLM_BASE_URL: simulator.url,
      ADMIN_PASSWORD: PASSWORD,
      LICENSE_PUBLIC_KEY: vendor.publicKey,
      // The time seen is kept at each look at the license.
      LICENSE_RECHECK_INTERVAL_SEC: "1",
      ALERT_WEBHOOK_URL: receiver.url,
      OUTBOX_BACKOFF_SCALE: "0.01",
      LOG_LEVEL: "info",
    };
    await clock.moveTo(0);
    receiver.use(answer(500));
    const source = await stage.newPlace(from);
    const first = await startGateway({ ...common, ...source });
    await uploadText(
      first.port,
      await logIn(first.url, "admin", PASSWORD),
      licenseText({ expires_at: inDays(LICENSE_DAYS) }),
    );
    await first.stop();
    // Twenty days are gone when it is started again: a clock that leaps while it runs is not believed.
    await clock.moveTo(AHEAD_DAYS * DAY_MS);
    const before = await startGateway({ ...common, ...source });
    const token = await logIn(before.url, "admin", PASSWORD);
    const key = await issueKey(before, {
      monthly_token_limit: 300,
      rpm_limit: 1_000,
      request_limit: 500,
    });
    const authorization = { authorization: `Bearer ${key.key}` };
    await callHttp(before.url, {
      method: "POST",
      path: "/v1/bi-keys",
      token,
      body: { name: "of a report" },
    });
    const small = chatBody(MODEL, { max_tokens: 20 });
    await eventually(async () => {
      const { status } = await callGateway(before.port, { headers: authorization, body: small });
      return status === 429;
    });
    await eventually(() => receiver.posts().length > 0);
    const used = await settledUse(before, key, "monthly_tokens");
    const requests = await settledUse(before, key, "requests");
    expect(requests.used).toBeGreaterThan(2);
    const usagePath = `/api/usage?key_id=${key.id}`;
    await eventually(async () => {
      const { totals } = await readBody(before, usagePath, token);
      return totals.requests === requests.used && totals.refused === 1;
    });
    // And the time is looked at meanwhile.
    const seenFile = join(source["DATA_DIR"] ?? "", "seen-time");
    const { mtimeMs } = statSync(seenFile);
    await eventually(() => statSync(seenFile).mtimeMs > mtimeMs);
    const usage = await readBody(before, usagePath, token);
    const seen = await view(before, token);
    const actions = await auditActions(before, token);
    expect(seen.license).toMatchObject({ valid: true, daysLeft: LICENSE_DAYS - AHEAD_DAYS });
    const left = leaveJournal(source);

    const made = await runScript("backup", [], source);
    expect([made.code, made.stderr]).toEqual([
      0,
      expect.stringContaining("verified by reading it back"),
    ]);
    const file = made.stdout.trim();
    expect(file).toMatch(/\/backups\/inference-gateway-\d{8}T\d{6}Z\.tar\.gz$/);
    expect(readdirSync(join(source["DATA_DIR"] ?? "", "backups"))).toHaveLength(1);
    expect(file).toContain(source["DATA_DIR"]);
    await before.stop();

    const target = await stage.newPlace(to);
    const restored = await runScript("restore", [file], target);
    expect([restored.code, restored.stdout]).toEqual([0, `${file}\n`]);
    receiver.use(answer(204));
    const posted = receiver.posts().at(-1)?.id;
    const postedBefore = receiver.posts().length;
    const after = await startGateway({ ...common, ...target });
    try {
      expect(await view(after, token)).toEqual(seen);
      expect((await auditActions(after, token)).slice(-actions.length)).toEqual(actions);
      expect(await readBody(after, usagePath, token)).toEqual(usage);
      expect(await readLimitUse(after, key, "monthly_tokens")).toMatchObject({ used: used.used });
      expect(await readLimitUse(after, key, "requests")).toMatchObject({ used: requests.used });
      const refused = await callGateway(after.port, { headers: authorization, body: small });
      expect(refused.text).toContain("monthly_limit_exceeded");
      const free = await callGateway(after.port, { body: small });
      expect(free.status).toBe(200);
      await eventually(() =>
        receiver
          .posts()
          .slice(postedBefore)
          .some(({ id }) => id === posted),
      );
      await eventually(async () => {
        const { body } = await callHttp(after.url, { path: "/api/requests?limit=100", token });
        return JSON.stringify(body).includes(left);
      });
      await eventually(
        () => !existsSync(join(target["DATA_DIR"] ?? "", "journal", "gateway-gone.journal")),
      );
    } finally {
      await after.stop();
    }

    // The clock is set back to the day of the first start, which gains nothing.
    await clock.moveTo(0);
    const third = await stage.newPlace(from);
    expect(await runScript("restore", [file], third)).toMatchObject({ code: 0 });
    const setBack = await startGateway({ ...common, ...third });
    try {
      expect((await view(setBack, token)).license).toEqual(seen.license);
    } finally {
      await setBack.stop();
    }
  },
);

test("nothing starts, and nothing is backed up, where a restore was not finished", async () => {
  const { DATA_DIR: root = "" } = await stage.newPlace("embedded");
  // Longer than the path of a socket may be.
  const source = { DATA_DIR: join(root, "a-long-name".repeat(12)) };
  mkdirSync(source.DATA_DIR, { recursive: true, mode: 0o700 });
  await placeMigratedDatabase(source.DATA_DIR);
  const gateway = await startGateway(source);
  const file = stage.newFile();
  expect((await runScript("backup", [file], source)).code).toBe(0);
  const again = await runScript("backup", [file], source);
  expect([again.code, again.stdout]).toEqual([1, ""]);
  expect(again.stderr).toContain("overwrites nothing");
  const occupied = await runScript("restore", [file], source);
  expect([occupied.code, occupied.stderr]).toEqual([1, expect.stringContaining("is not empty")]);
  await gateway.stop();

  const half = await stage.newPlace("embedded");
  mkdirSync(half["DATA_DIR"] ?? "");
  writeFileSync(join(half["DATA_DIR"] ?? "", "restore.unfinished"), "bak_another\n");
  const refused = await startRefused(half);
  expect([refused.code, refused.output]).toEqual([
    1,
    expect.stringContaining("Run `restore` again"),
  ]);
  const backup = await runScript("backup", [], half);
  expect([backup.code, backup.stderr]).toEqual([1, expect.stringContaining("Run `restore` again")]);
  const other = await runScript("restore", [file], half);
  expect([other.code, other.stderr]).toEqual([1, expect.stringContaining("another backup")]);
});

const wrongCalls = [
  { name: "backup", args: ["one", "two"], code: 2, stderr: "Usage:" },
  { name: "restore", args: [], code: 2, stderr: "Usage:" },
  { name: "backup", args: ["--help"], code: 0, stdout: "Usage:" },
  {
    name: "restore",
    args: ["/nowhere.tar.gz"],
    code: 1,
    stderr: "There is no such file (/nowhere",
  },
  { name: "restore", args: ["tests"], code: 1, stderr: "A folder is named" },
];
test.each(wrongCalls)("$name $args ends with $code and says why", async (call) => {
  const { name, args, code, stderr = "", stdout = "" } = call;
  const ended = await runScript(name, args, { DATA_DIR: "unused" });
  expect(ended).toEqual({
    code,
    stdout: expect.stringContaining(stdout),
    stderr: expect.stringContaining(stderr),
  });
});
