import { describe, expect, it } from "vitest";
import type { Check } from "../../src/core/part.ts";
import { createReadiness } from "../../src/operations/health.ts";

const never = () => new Promise<boolean>(() => undefined);
const given = { LLM_BACKEND: "vllm", DATABASE_URL: "postgres://me:hunter2@db.example/x" } as const;

/** All is well, but for what the test says. Each check is another part's. */
function readinessWith(
  wrong: Readonly<Record<string, Check>>,
  { settings = {}, isStopping = (): boolean => false } = {},
) {
  const yes = async () => true;
  const checks = { db: yes, migrations: () => true, llm: yes, limits: () => true, ...wrong };
  const parts = [
    {},
    ...Object.entries(checks).map(([name, check]) => ({ checks: { [name]: check } })),
  ];
  return createReadiness({ parts, isStopping, settings: { ...given, ...settings } });
}

const report = async (wrong: Readonly<Record<string, Check>>, settings = {}) =>
  (await readinessWith(wrong, { settings })()).report;

describe("readiness", () => {
  it("has no hint while nothing failed", async () => {
    expect(await report({})).toEqual({
      ready: true,
      checks: { db: true, migrations: true, llm: true },
    });
  });

  it("says of each check that failed what to do, in a sentence without address or secret", async () => {
    const failing = { db: async () => false, migrations: () => false, llm: async () => false };
    const told = await report(failing);
    expect(told).toMatchObject({
      ready: false,
      failed: ["db", "migrations", "llm"],
      checks: { db: false, migrations: false, llm: false },
    });
    const { hints } = told as { hints: Record<string, string> };
    expect(Object.keys(hints)).toEqual(["db", "migrations", "llm"]);
    expect(hints).toMatchObject({
      db: expect.stringContaining("DATABASE_URL"),
      llm: expect.stringMatching(/vllm.*LLM_BASE_URL/),
    });
    for (const hint of Object.values(hints)) expect(hint).toMatch(/^[A-Z][^.]+\.$/);
    expect(JSON.stringify(told)).not.toMatch(/hunter2|db\.example|:\/\//);
  });

  it("speaks of the embedded database where there is no other", async () => {
    const told = await report({ db: async () => false }, { DATABASE_URL: undefined });
    expect(told["hints"]).toEqual({ db: expect.stringContaining("embedded database") });
  });

  it("says what a part knows better of its failed check, and nothing of one that passes", async () => {
    let isReadOnly = true;
    const hint = "PostgreSQL takes no changes.";
    const checks = { db: () => false, migrations: () => true, llm: () => true };
    const parts = [
      { checks, hints: { db: () => (isReadOnly ? hint : undefined), llm: () => hint } },
    ];
    const ask = createReadiness({ parts, isStopping: () => false, settings: given });
    expect((await ask()).report["hints"]).toEqual({ db: hint });
    isReadOnly = false;
    expect((await ask()).report["hints"]).toEqual({ db: expect.stringContaining("DATABASE_URL") });
  });

  it("does not wait for parts that hang, and asks each of them once however many want to know", async () => {
    let asked = 0;
    const hang = () => {
      asked += 1;
      return never();
    };
    const ask = readinessWith({ db: hang, llm: hang });
    const startedAt = performance.now();
    const answers = await Promise.all(Array.from({ length: 50 }, () => ask()));
    expect(performance.now() - startedAt).toBeLessThan(1_900);
    expect(answers.map(({ failed }) => failed)).toEqual(answers.map(() => ["db", "llm"]));
    expect(asked).toBe(2);
  });

  it("tells at once that the server stops, and asks nobody for it", async () => {
    let isStopping = false;
    let asked = 0;
    const db = async () => {
      asked += 1;
      return false;
    };
    const ask = readinessWith({ db }, { isStopping: () => isStopping });
    expect((await ask()).failed).toEqual(["db"]);
    isStopping = true;
    expect((await ask()).report).toMatchObject({
      ready: false,
      failed: ["db", "stopping"],
      hints: { stopping: expect.stringContaining("another replica") },
    });
    expect(asked).toBe(1);
  });

  it("passes a check that several parts have when it passes for each, asked in their order", async () => {
    let canRecord = false;
    let asked = 0;
    const parts = [
      { checks: { db: async () => true, migrations: () => true, llm: async () => true } },
      {
        checks: {
          db() {
            asked += 1;
            return canRecord;
          },
        },
      },
    ];
    const ask = createReadiness({ parts, isStopping: () => false, settings: given });
    expect((await ask()).failed).toEqual(["db"]);
    canRecord = true;
    expect((await ask()).ready).toBe(true);
    const away = [{ checks: { db: async () => false } }, ...parts.slice(1)];
    await createReadiness({ parts: away, isStopping: () => false, settings: given })();
    expect(asked).toBe(2);
  });

  it("is not lost with the limits, and says that they are", async () => {
    expect(await report({ limits: () => false })).toMatchObject({
      ready: true,
      limits: "unavailable",
    });
  });
});
