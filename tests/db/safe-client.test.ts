import { setImmediate as turn } from "node:timers/promises";
import type { Sql, TransactionSql } from "postgres";
import { describe, expect, it } from "vitest";
import { createLosses, type Losses, safeClient } from "../../src/db/safe-client.ts";

type Begin = <Result>(work: (transaction: TransactionSql) => Promise<Result>) => Promise<Result>;

/** Stands in for the driver with one connection: what it sends, and how it tells of the connection's end. */
function startDriver() {
  const sent: string[] = [];
  let reject = (_: Error): void => undefined;
  const unsafe = (text: string) => {
    sent.push(text);
    return Promise.resolve([]);
  };
  const scope = async (work: (transaction: TransactionSql) => Promise<unknown>, undo: string) => {
    try {
      return await work({ unsafe, savepoint } as unknown as TransactionSql);
    } catch (thrown) {
      sent.push(undo);
      throw thrown;
    }
  };
  const savepoint = (work: (transaction: TransactionSql) => Promise<unknown>) =>
    scope(work, "rollback to");
  const begin: Begin = async (work) => {
    const running = scope(work, "rollback").then((result) => {
      sent.push("commit");
      return result as never;
    });
    return await Promise.race([running, new Promise<never>((_, lose) => (reject = lose))]);
  };
  const close = (losses: Losses): void => {
    reject(new Error("closed by the driver"));
    losses.note();
  };
  return { sql: { unsafe, begin } as unknown as Sql, sent, close };
}

const safe = (sql: Sql, losses: Losses, onFailure: (thrown: unknown) => void = () => undefined) =>
  safeClient(sql, { losses, onFailure });

describe("the client of a pool", () => {
  it("commits and rolls back, with savepoints", async () => {
    const { sql, sent } = startDriver();
    const client = safe(sql, createLosses());
    const result = await client.begin(async (transaction) => {
      await transaction.unsafe("one");
      const failing = transaction.savepoint(() => Promise.reject(new Error("undone")));
      await expect(failing).rejects.toThrow("undone");
      return 7;
    });
    expect(result).toBe(7);
    const failing = client.begin(() => Promise.reject(new Error("of its own")));
    await expect(failing).rejects.toThrow("of its own");
    expect(sent).toEqual(["one", "rollback to", "commit", "rollback"]);
  });

  it.each([
    ["ends", () => undefined],
    [
      "fails",
      () => {
        throw new Error("of its own");
      },
    ],
    ["sends", (transaction: TransactionSql) => transaction.unsafe("late")],
    ["nests", (transaction: TransactionSql) => transaction.savepoint(() => Promise.resolve())],
  ] as const)(
    "sends nothing when the work %s in the very turn in which its connection closes",
    async (_, work) => {
      for (const isFirst of [true, false]) {
        const { sql, sent, close } = startDriver();
        const losses = createLosses();
        let goOn = (): void => undefined;
        const until = new Promise<void>((resolve) => (goOn = resolve));
        const running = safe(sql, losses).begin(async (transaction) => {
          await until;
          await work(transaction);
        });
        if (isFirst) goOn();
        close(losses);
        goOn();
        await expect(running).rejects.toThrow("closed by the driver");
        await turn();
        await turn();
        expect(sent).toEqual([]);
      }
    },
  );

  it("refuses a statement in the turn of another connection's loss, and rolls back after it", async () => {
    const { sql, sent } = startDriver();
    const losses = createLosses();
    const running = safe(sql, losses).begin(async (transaction) => {
      losses.note();
      await transaction.unsafe("one");
    });
    await expect(running).rejects.toMatchObject({ code: "CONNECTION_CLOSED" });
    expect(sent).toEqual(["rollback"]);
  });

  it("begins no work in the turn of a loss, because the driver would not tell whose it was", async () => {
    const { sql, sent } = startDriver();
    const losses = createLosses();
    losses.note();
    const running = safe(sql, losses).begin((transaction) => transaction.unsafe("one"));
    await expect(running).rejects.toMatchObject({ code: "CONNECTION_CLOSED" });
    expect(sent).toEqual([]);
  });
});
