import { expect } from "vitest";
import { type Cell, type Note, type Scenario, user } from "../scenario.ts";

const POLL_MS = 10;
const SEEN_BY_MS = 30_000;

/** What the library throws; fails when it does not. */
async function faultOf(cell: Cell, signal?: AbortSignal): Promise<Error & { status?: number }> {
  const { model } = cell.backend;
  const asking = cell.ask({ model, turns: [user(cell, "Speak.")] }, signal && { signal });
  const fault = await asking.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(fault instanceof Error)) throw new Error("the call went well");
  expect(fault.message).not.toMatch(/canary|127\.0\.0\.1/);
  return fault;
}

async function errorBefore(cell: Cell): Promise<Note> {
  cell.script({ respond: { status: 500, body: { error: "CUDA error" } } });
  expect((await faultOf(cell)).status).toBe(502);
  cell.script({ respond: { status: 429, headers: { "retry-after": "7" }, body: {} } });
  const limited = await faultOf(cell);
  expect(limited.status).toBe(429);
  return "works";
}

async function errorInStream(cell: Cell): Promise<Note> {
  const faulty = { text: "one two three four five six seven eight" };
  if (cell.stream) cell.script({ ...faulty, error: { at: 4 } });
  else cell.script({ ...faulty, cut: { at: 1, how: "reset" } });
  const fault = await faultOf(cell);
  expect(fault.message).not.toBe("");
  if (!cell.stream) expect(fault.status).toBe(502);
  return "works";
}

async function abort(cell: Cell): Promise<Note> {
  cell.script({ text: "word ".repeat(500), tokensPerSecond: 20 });
  const client = new AbortController();
  const asking = faultOf(cell, client.signal);
  // Of a whole answer nothing is seen before its end.
  await until(() => cell.received().some(({ firstByteAt }) => !cell.stream || firstByteAt));
  client.abort();
  await asking;
  await until(() => cell.received().every(({ end }) => end === "client-left"));
  return "works";
}

async function until(condition: () => boolean): Promise<void> {
  const end = Date.now() + SEEN_BY_MS;
  while (!condition()) {
    if (Date.now() > end) throw new Error("it did not come to that in time");
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

export const FAULT_SCENARIOS: readonly Scenario[] = [
  { name: "error before the answer", run: errorBefore },
  { name: "error in the answer", run: errorInStream },
  { name: "abort", run: abort },
];
