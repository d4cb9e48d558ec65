import { describe, expect, test } from "vitest";
import { DatabaseError } from "../../src/db/database-error.ts";
import { repeatConflict } from "../../src/db/repeat-conflict.ts";

/** Runs what always fails so, and returns how often it was tried. */
async function triesOf(thrown: Error): Promise<number> {
  let tries = 0;
  const failing = repeatConflict(async () => {
    tries += 1;
    throw thrown;
  });
  await expect(failing).rejects.toBe(thrown);
  return tries;
}

describe("a transaction that was undone", () => {
  test.each([
    ["a deadlock", new DatabaseError("40P01", "")],
    ["a change beside it", new DatabaseError("40001", "")],
    ["a row whose day got its own partition", new DatabaseError("23514", "")],
  ])("by %s runs again, three times at most", async (_, thrown) => {
    expect(await triesOf(thrown)).toBe(3);
  });

  test.each([
    ["a check of a table", new DatabaseError("23514", "", "usage_days_requests_check")],
    ["a unique key", new DatabaseError("23505", "", "users_pkey")],
    ["our own fault", new TypeError("undefined")],
  ])("by %s does not", async (_, thrown) => {
    expect(await triesOf(thrown)).toBe(1);
  });
});
