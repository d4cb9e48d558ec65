import { describe, expect, it } from "vitest";
import { createReadiness, type ReadinessProbes } from "../../src/operations/health.ts";

const never = () => new Promise<boolean>(() => undefined);
const parts = { LLM_BACKEND: "vllm", DATABASE_URL: "postgres://me:hunter2@db.example/x" } as const;

/** All is well, but for what the test says. */
function probesWith(wrong: Partial<ReadinessProbes>): ReadinessProbes {
  return {
    db: async () => true,
    migrations: () => true,
    llm: async () => true,
    limits: () => true,
    stopping: () => false,
    ...wrong,
  };
}

const report = async (wrong: Partial<ReadinessProbes>, of: object = parts) =>
  (await createReadiness(probesWith(wrong), { ...parts, ...of })()).report;

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

  it("does not wait for parts that hang, and asks each of them once however many want to know", async () => {
    let asked = 0;
    const hang = () => {
      asked += 1;
      return never();
    };
    const ask = createReadiness(probesWith({ db: hang, llm: hang }), parts);
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
    const ask = createReadiness(probesWith({ db, stopping: () => isStopping }), parts);
    expect((await ask()).failed).toEqual(["db"]);
    isStopping = true;
    expect((await ask()).report).toMatchObject({
      ready: false,
      failed: ["db", "stopping"],
      hints: { stopping: expect.stringContaining("another replica") },
    });
    expect(asked).toBe(1);
  });

  it("is not lost with the limits, and says that they are", async () => {
    expect(await report({ limits: () => false })).toMatchObject({
      ready: true,
      limits: "unavailable",
    });
  });
});
