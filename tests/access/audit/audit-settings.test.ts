import { sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { auditSettings } from "../../../src/access/audit/audit-settings.ts";
import { openInstallation } from "../../../src/access/open-installation.ts";
import { openSecret } from "../../../src/access/secret.ts";
import { loadConfig } from "../../../src/config/load-config.ts";
import type { Database } from "../../../src/db/database.ts";
import { auditLog } from "../../../src/db/tables/audit-log.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";

const APP_SECRET = "canary: the secret of the installation";
const secret = await openSecret({ APP_SECRET, DATA_DIR: "" });
const clock = { now: () => Date.UTC(2026, 10, 21) };
let database: Database;

beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  await database.db.execute(sql`truncate installation, audit_log`);
  await openInstallation(database, secret, clock);
});

/** What a start with this environment does. */
const start = (environment: Readonly<Record<string, string>>) =>
  auditSettings({ database, settings: loadConfig(environment).settings }, secret);

const entries = () => database.db.select().from(auditLog).orderBy(auditLog.id);

async function changes() {
  return (await entries()).map(({ action, details }) => [action, details]);
}

const FIRST = ["settings.first_start", {}];

describe("the settings in the audit log", () => {
  it("say at the first start that it is one, and name none", async () => {
    await start({ OPENAI_API_KEY: "canary" });
    expect(await entries()).toEqual([
      expect.objectContaining({
        actorId: null,
        via: "service",
        action: "settings.first_start",
        targetKind: "settings",
        targetId: null,
        details: {},
      }),
    ]);
  });

  it("are silent when nothing changed", async () => {
    await start({ LLM_BACKEND: "vllm", EGRESS_ALLOW: "a,b", TRUST_PROXY: "10.0.0.0/8" });
    await start({ EGRESS_ALLOW: "a, b", TRUST_PROXY: "10.0.0.0/8", LLM_BACKEND: "vllm" });
    // What is set to its default is the same as what is not set.
    await start({
      EGRESS_ALLOW: "a,b",
      TRUST_PROXY: "10.0.0.0/8",
      LLM_BACKEND: "vllm",
      LOG_LEVEL: "info",
    });
    expect(await changes()).toEqual([FIRST]);
  });

  it("name those that are changed, set and no longer set, once", async () => {
    await start({ LOG_LEVEL: "info", OPENAI_API_KEY: "one", REDIS_URL: "redis://a" });
    const next = { LOG_LEVEL: "debug", OPENAI_API_KEY: "two", MODELS_FILE: "models.json" };
    await start(next);
    await start(next);
    await start({ ...next, EGRESS_ALLOW: "10.0.0.0/8" });
    expect(await changes()).toEqual([
      FIRST,
      [
        "settings.change",
        {
          changed: ["LOG_LEVEL", "OPENAI_API_KEY"],
          added: ["MODELS_FILE"],
          removed: ["REDIS_URL"],
        },
      ],
      ["settings.change", { changed: ["EGRESS_ALLOW"], added: [], removed: [] }],
    ]);
  });

  it("leave out what each replica has its own of", async () => {
    const own = (name: string) => ({
      HOST: `${name}.example`,
      PORT: String(8_000 + name.length),
      INSTANCE_ID: name,
      DATA_DIR: `/${name}`,
      JOURNAL_DIR: `/${name}/journal`,
      DEV_API_KEY: `sk-${name}-0123456789abcdefghijklmnop`,
    });
    await start(own("one"));
    await start(own("another"));
    await start({});
    expect(await changes()).toEqual([FIRST]);
  });

  it("are written by one of the replicas that start together", async () => {
    await Promise.all([1, 2, 3, 4].map(() => start({ LOG_LEVEL: "info" })));
    await Promise.all([1, 2, 3, 4].map(() => start({ LOG_LEVEL: "warn" })));
    expect(await changes()).toEqual([
      FIRST,
      ["settings.change", { changed: ["LOG_LEVEL"], added: [], removed: [] }],
    ]);
  });

  it("have no value anywhere, and no hash that a copy of the database would let one guess", async () => {
    const values = { OPENAI_API_KEY: "canary-key", ADMIN_PASSWORD: "canary-password", APP_SECRET };
    await start({});
    await start(values);
    const [row] = await database.db.execute<{ hashes: Record<string, string> }>(
      sql`select setting_hashes as hashes from installation`,
    );
    const kept = JSON.stringify([row, await entries()]);
    for (const value of Object.values(values)) expect(kept).not.toContain(value);
    for (const hash of Object.values(row?.hashes ?? {})) {
      expect(hash).toMatch(/^[\w-]{43}$/);
      expect(JSON.stringify(await entries())).not.toContain(hash);
    }
    // The same settings under another secret have other hashes throughout.
    const other = await openSecret({ APP_SECRET: "the secret of somewhere else", DATA_DIR: "" });
    await auditSettings({ database, settings: loadConfig(values).settings }, other);
    const last = (await entries()).at(-1)?.details as { changed: string[] };
    expect(last.changed).toHaveLength(Object.keys(row?.hashes ?? {}).length);
  });

  it("are kept when their entry cannot be written, so that the next start writes it", async () => {
    await start({});
    await database.db.execute(sql`alter table audit_log rename to elsewhere`);
    await expect(start({ LOG_LEVEL: "debug" })).rejects.toThrow();
    await database.db.execute(sql`alter table elsewhere rename to audit_log`);
    await start({ LOG_LEVEL: "debug" });
    expect(await changes()).toHaveLength(2);
  });
});
