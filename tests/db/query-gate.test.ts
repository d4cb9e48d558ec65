import { describe, expect, it } from "vitest";
import { createQueryGate } from "../../src/db/query-gate.ts";

const askWithin = (waitMs: number, max = 10) => createQueryGate({ waitMs, max }).ask;
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
    const gate = createQueryGate({ waitMs: 60_000, max: 2 });
    for (let calls = 0; calls < 1_002; calls += 1) gate.ask(never).catch(() => undefined);
    expect(gate.figures()).toEqual({ inUse: 2, max: 2, waiting: 1_000, refused: 0 });
    await expect(gate.ask(never)).rejects.toMatchObject({ code: "storage_unavailable" });
    expect(gate.figures()).toMatchObject({ waiting: 1_000, refused: 1 });
  });

  it("never begins what was given up on before its turn, and gives the place to the next", async () => {
    const gate = createQueryGate({ waitMs: 30, max: 1 });
    let answer = (_: string) => {};
    const slow = gate.ask(() => new Promise<string>((resolve) => (answer = resolve)));
    let begun = 0;
    const late = gate.ask(async () => (begun += 1));
    await expect(slow).rejects.toMatchObject({ code: "storage_unavailable" });
    await expect(late).rejects.toMatchObject({ code: "storage_unavailable" });
    expect(gate.figures()).toEqual({ inUse: 1, max: 1, waiting: 0, refused: 2 });
    const next = gate.ask(async () => "next");
    answer("too late");
    expect(await next).toBe("next");
    expect([begun, gate.figures().inUse]).toEqual([0, 0]);
  });

  it("tells a work under way that nobody waits for it any more", async () => {
    let given: AbortSignal | undefined;
    const late = askWithin(20)((signal) => {
      given = signal;
      return never();
    });
    expect(given?.aborted).toBe(false);
    const refusal = await late.catch((thrown: unknown) => thrown);
    expect(given?.reason).toBe(refusal);
  });

  it("serves in the order of asking, never more at once than there are connections", async () => {
    const gate = createQueryGate({ waitMs: 10_000, max: 3 });
    const order: number[] = [];
    let most = 0;
    const work = (index: number) => async () => {
      order.push(index);
      most = Math.max(most, gate.figures().inUse);
      await new Promise((resolve) => setTimeout(resolve, 1));
    };
    await Promise.all(Array.from({ length: 30 }, (_, index) => gate.ask(work(index))));
    expect(order).toEqual(Array.from({ length: 30 }, (_, index) => index));
    expect([most, gate.figures().inUse]).toEqual([3, 0]);
  });

  it("calls for new connections when these are silent for long, and counts on them alone then", async () => {
    let answer = (_: string) => {};
    let called = 0;
    const onHung = () => {
      called += 1;
      gate.renew();
    };
    const gate = createQueryGate({ waitMs: 20, max: 1, hungMs: 20, onHung });
    const hung = gate.ask(() => new Promise<string>((resolve) => (answer = resolve)));
    await expect(hung).rejects.toMatchObject({ code: "storage_unavailable" });
    await expect.poll(() => called).toBe(1);
    const next = gate.ask(never);
    answer("of a connection that is gone");
    await expect(next).rejects.toMatchObject({ code: "storage_unavailable" });
    expect(gate.figures()).toMatchObject({ inUse: 1, waiting: 0 });
    await expect.poll(() => called).toBe(2);
    expect(await gate.ask(async () => "new")).toBe("new");
  });

  it.each([
    "ECONNREFUSED",
    "CONNECTION_CLOSED",
    "CONNECT_TIMEOUT",
    "57P01",
    "53300",
    "08006",
    "25006",
    "58030",
  ])("ends with storage_unavailable on %s", async (code) => {
    await expect(askWithin(1_000)(failWith({ code }))).rejects.toMatchObject({
      code: "storage_unavailable",
    });
  });

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
