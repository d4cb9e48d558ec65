import { afterEach, expect, it, vi } from "vitest";
import { StopRequests } from "../../../src/lib/process/stop-requests.ts";

const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
const before = new Map(SIGNALS.map((signal) => [signal, process.listeners(signal)]));
afterEach(() => {
  vi.restoreAllMocks();
  for (const signal of SIGNALS) {
    for (const listener of process.listeners(signal)) {
      if (!before.get(signal)?.includes(listener)) process.off(signal, listener);
    }
  }
});

it("signals close together are one request, and each listener has a first one", () => {
  let now = 1_000;
  vi.spyOn(performance, "now").mockImplementation(() => now);
  const told: unknown[] = [];
  const requests = new StopRequests((...request) => told.push(["early", ...request]));
  const [terminate, interrupt, hangUp] = SIGNALS.map((signal) => () => {
    for (const listener of process.listeners(signal)) {
      if (!before.get(signal)?.includes(listener)) listener(signal);
    }
  });
  terminate?.();
  now += 499;
  interrupt?.();
  now += 1;
  interrupt?.();
  requests.tell((...request) => told.push(["late", ...request]));
  now += 600;
  terminate?.();
  now += 100;
  terminate?.();
  now += 600;
  terminate?.();
  now += 600;
  hangUp?.();
  expect(told).toEqual([
    ["early", "SIGTERM", true],
    ["early", "SIGINT", false],
    ["late", "SIGTERM", true],
    ["late", "SIGTERM", false],
    ["late", "SIGHUP", false],
  ]);
});
