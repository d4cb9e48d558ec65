import { describe, expect, it } from "vitest";
import { askWithin } from "../../src/db/ask-within.ts";

const never = () => new Promise<never>(() => undefined);
const failWith = (fields: object) => () =>
  Promise.reject(
    new Error("Failed query: insert into users values ($1) params: hunter2", {
      cause: Object.assign(new Error("the message"), fields),
    }),
  );

describe("asking the database", () => {
  it("gives what it answers", async () => {
    expect(await askWithin(1_000)(() => Promise.resolve(7))).toBe(7);
  });

  it("ends with storage_unavailable when it hangs", async () => {
    await expect(askWithin(20)(never)).rejects.toMatchObject({
      code: "storage_unavailable",
      retryAfterSeconds: 1,
    });
  });

  it("turns callers away at once when too many wait already", async () => {
    const ask = askWithin(60_000);
    const waiting = Array.from({ length: 1_000 }, () => ask(never));
    for (const call of waiting) call.catch(() => undefined);
    await expect(ask(never)).rejects.toMatchObject({ code: "storage_unavailable" });
  });

  it.each(["ECONNREFUSED", "CONNECTION_CLOSED", "CONNECT_TIMEOUT", "57P01", "53300", "08006"])(
    "ends with storage_unavailable on %s",
    async (code) => {
      await expect(askWithin(1_000)(failWith({ code }))).rejects.toMatchObject({
        code: "storage_unavailable",
      });
    },
  );

  it("tells neither statement nor values of a refused query", async () => {
    const refused = askWithin(1_000)(
      failWith({ code: "23505", severity: "ERROR", constraint_name: "users_pkey" }),
    );
    await expect(refused).rejects.toMatchObject({
      name: "DatabaseError",
      code: "23505",
      message: "The database failed with 23505: constraint users_pkey.",
    });
  });

  it("passes on a fault of the caller's own as it is, also one thrown at once", async () => {
    const ask = askWithin(1_000);
    const fault = new TypeError("undefined is not a function");
    const throwing = () => {
      throw fault;
    };
    await expect(ask(() => Promise.reject(fault))).rejects.toBe(fault);
    await expect(ask(throwing)).rejects.toBe(fault);
  });

  it("tells the message of a fault in the schema", async () => {
    const refused = askWithin(1_000)(failWith({ code: "42P01", severity: "ERROR" }));
    await expect(refused).rejects.toThrow("The database failed with 42P01: the message.");
  });
});
