import { sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { withTransaction } from "../../src/db/context.ts";
import type { Database } from "../../src/db/database.ts";
import { createQueryGate } from "../../src/db/query-gate.ts";
import { createLog } from "../../src/lib/log.ts";
import { openSessionTokens } from "../../src/limits/session-tokens.ts";
import { openedKind, openTestDatabase } from "../support/servers/databases/test-database.ts";

const MARCH = Date.UTC(2027, 2, 9);
/** How long a write is waited for. */
const WAIT_MS = 50;
/** Retries come a second after the attempt before them. */
const SOON = { timeout: 20_000, interval: 20 };

let database: Database;
let lines: string[] = [];
const log = createLog("warn", { write: (line: string) => void lines.push(line) });

beforeAll(async () => {
  database = await openTestDatabase();
  await database.db.execute(sql`
    insert into users (id, username, role, password_hash)
    values ('usr_1', 'one', 'user', 'none'), ('usr_2', 'two', 'user', 'none')`);
});
afterEach(async () => {
  lines = [];
  await database.db.execute(sql`truncate session_months, journal_checkpoints`);
});
afterAll(() => database.close());

/** A promise, and what settles it. */
function event() {
  let happens = () => {};
  const happened = new Promise<void>((resolve) => {
    happens = resolve;
  });
  return { happened, happens };
}

/**
 * The database behind a gate that waits briefly for each write. What is given up goes on, as behind any gate.
 * @param before is waited for with the connection, before each write.
 */
function impatient(before: () => Promise<unknown> | undefined = () => undefined) {
  const gate = createQueryGate({ waitMs: WAIT_MS, max: 4 });
  const figures = { givenUp: 0 };
  const running: Promise<unknown>[] = [];
  const askOwn: Database["askOwn"] = async (work) => {
    try {
      return await gate.ask(() => {
        const result = Promise.resolve(before()).then(() => work(database.db));
        running.push(result.catch(() => undefined));
        return result;
      });
    } catch (thrown) {
      figures.givenUp += 1;
      throw thrown;
    }
  };
  return { askOwn, figures, ended: () => Promise.all(running) };
}

/** `user month tokens` of all. */
async function stored(): Promise<string[]> {
  const rows = await database.db.execute<{ line: string }>(sql`
    select concat_ws(' ', user_id, month, tokens) as line from session_months order by 1`);
  return rows.map(({ line }) => line);
}

async function writers(): Promise<number> {
  const rows = await database.db.execute(
    sql`select 1 from journal_checkpoints where journal like 'sessions:%'`,
  );
  return rows.length;
}

describe("the tokens of sessions", () => {
  it("are added up by user and month, and leave no number of a batch behind", async () => {
    const tokens = openSessionTokens({ database, log });
    for (const [user, at, used] of [
      ["usr_1", MARCH, 1],
      ["usr_1", MARCH + 1, 20],
      ["usr_2", MARCH, 300],
      ["usr_1", Date.UTC(2027, 3, 1), 4_000],
      ["usr_gone", MARCH, 5],
      ["usr_1", MARCH, Number.NaN],
    ] as const) {
      tokens.add(user, at, used);
    }
    await expect.poll(stored, SOON).toHaveLength(3);
    await tokens.close();
    expect(await stored()).toEqual([
      "usr_1 2027-03-01 21",
      "usr_1 2027-04-01 4000",
      "usr_2 2027-03-01 300",
    ]);
    expect(await writers()).toBe(0);
  });

  it("are added once when writes are given up and take effect later, and newer ones are added as well", async () => {
    const { happened, happens } = event();
    const slow = impatient(() => happened);
    const tokens = openSessionTokens({ database: slow, log });
    tokens.add("usr_1", MARCH, 1_000);
    await expect.poll(() => slow.figures.givenUp, SOON).toBe(1);
    tokens.add("usr_1", MARCH, 30);
    await expect.poll(() => slow.figures.givenUp, SOON).toBeGreaterThanOrEqual(3);
    happens();
    await slow.ended();
    await tokens.close();
    expect(await stored()).toEqual(["usr_1 2027-03-01 1030"]);
    expect(await writers()).toBe(0);
  });

  it("are added once when the answer to their write is lost", async () => {
    let losses = 2;
    const lossy: Pick<Database, "askOwn"> = {
      async askOwn(work) {
        const answer = await database.askOwn(work);
        losses -= 1;
        if (losses >= 0) throw Object.assign(new Error("lost"), { code: "ECONNRESET" });
        return answer;
      },
    };
    const tokens = openSessionTokens({ database: lossy, log });
    tokens.add("usr_1", MARCH, 1_000);
    await expect.poll(() => losses, SOON).toBeLessThan(0);
    await tokens.close();
    expect(await stored()).toEqual(["usr_1 2027-03-01 1000"]);
  });

  it.runIf(openedKind === "postgres")(
    "are added once when another transaction holds the user's row for longer than a write is waited for",
    async () => {
      await database.db.execute(sql`insert into session_months values ('usr_1', '2027-03-01', 7)`);
      const slow = impatient();
      const tokens = openSessionTokens({ database: slow, log });
      await withTransaction(database.db, async (holder) => {
        await holder.execute(sql`select from session_months for update`);
        tokens.add("usr_1", MARCH, 1_000);
        await expect.poll(() => slow.figures.givenUp, SOON).toBe(2);
      });
      await slow.ended();
      await tokens.close();
      expect(await stored()).toEqual(["usr_1 2027-03-01 1007"]);
    },
  );

  it("are warned of once while they cannot be stored, and again after they could", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    let attempts = 0;
    let isAway = true;
    const away: Pick<Database, "askOwn"> = {
      askOwn(work) {
        attempts += 1;
        return isAway ? Promise.reject(new Error("away")) : database.askOwn(work);
      },
    };
    const tokens = openSessionTokens({ database: away, log });
    try {
      tokens.add("usr_1", MARCH, 1);
      for (let retries = 0; retries < 3; retries += 1) await vi.advanceTimersByTimeAsync(1_000);
      expect(attempts).toBe(4);
      expect(lines).toHaveLength(1);
    } finally {
      vi.useRealTimers();
    }
    isAway = false;
    tokens.add("usr_1", MARCH, 2);
    await expect.poll(stored, SOON).toEqual(["usr_1 2027-03-01 3"]);
    isAway = true;
    tokens.add("usr_1", MARCH, 4);
    await expect.poll(() => lines.length, SOON).toBe(2);
    isAway = false;
    await tokens.close();
    expect(await stored()).toEqual(["usr_1 2027-03-01 7"]);
  });
});
