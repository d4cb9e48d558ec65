import { afterEach, expect, it, vi } from "vitest";
import { StopRequests } from "../../../src/lib/process/stop-requests.ts";

const before = { SIGTERM: process.listeners("SIGTERM"), SIGINT: process.listeners("SIGINT") };
afterEach(() => {
  vi.restoreAllMocks();
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    for (const listener of process.listeners(signal)) {
      if (!before[signal].includes(listener)) process.off(signal, listener);
    }
  }
});

it("signals close together are one request, and each listener has a first one", () => {
  let now = 1_000;
  vi.spyOn(performance, "now").mockImplementation(() => now);
  const told: unknown[] = [];
  const requests = new StopRequests((...request) => told.push(["early", ...request]));
  const [terminate, interrupt] = (["SIGTERM", "SIGINT"] as const).map((signal) => () => {
    for (const listener of process.listeners(signal)) {
      if (!before[signal].includes(listener)) listener(signal);
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
  expect(told).toEqual([
    ["early", "SIGTERM", true],
    ["early", "SIGINT", false],
    ["late", "SIGTERM", true],
    ["late", "SIGTERM", false],
  ]);
});
