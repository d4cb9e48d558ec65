import { expect, it } from "vitest";
import { Breaker } from "../../../src/backends/replicas/breaker.ts";

const PAUSE_MS = 2_000;

it("opens at the third failure in a row, and a success begins the count anew", () => {
  const breaker = new Breaker();
  expect([breaker.failed(0, false), breaker.failed(0, false)]).toEqual([false, false]);
  expect(breaker.succeeded()).toBe(false);
  expect([breaker.failed(0, false), breaker.failed(0, false)]).toEqual([false, false]);
  expect(breaker.isClosed).toBe(true);
  expect(breaker.failed(0, false)).toBe(true);
  expect(breaker.isClosed).toBe(false);
});

it("opens at the third failed check in a row, and a good one makes up for no failed call", () => {
  const breaker = new Breaker();
  for (let day = 0; day < 5; day += 1) {
    expect([breaker.failedCheck(0, false), breaker.failedCheck(0, false)]).toEqual([false, false]);
    breaker.passedCheck();
  }
  expect([breaker.failed(0, false), breaker.failedCheck(0, false)]).toEqual([false, false]);
  breaker.passedCheck();
  expect(breaker.failed(0, false)).toBe(false);
  breaker.passedCheck();
  expect(breaker.failed(0, false)).toBe(true);
});

it("opens at once when nobody is there, and tells so once", () => {
  const breaker = new Breaker();
  expect(breaker.failed(0, true)).toBe(true);
  expect(breaker.failed(0, true)).toBe(false);
  expect(breaker.isClosed).toBe(false);
});

it("takes no probe while it is closed, one after the pause, and no second beside it", () => {
  const breaker = new Breaker();
  expect(breaker.takesProbe(1_000_000)).toBe(false);
  breaker.failed(1_000, true);
  expect(breaker.takesProbe(1_000 + PAUSE_MS - 1)).toBe(false);
  expect(breaker.takesProbe(1_000 + PAUSE_MS)).toBe(true);
  expect(breaker.takesProbe(1_000 + PAUSE_MS)).toBe(false);
  expect(breaker.isClosed).toBe(false);
});

it("closes when the probe succeeds, and pauses again when it fails", () => {
  const breaker = new Breaker();
  breaker.failed(0, true);
  expect(breaker.takesProbe(PAUSE_MS)).toBe(true);
  breaker.failed(PAUSE_MS, true);
  expect(breaker.takesProbe(2 * PAUSE_MS - 1)).toBe(false);
  expect(breaker.takesProbe(2 * PAUSE_MS)).toBe(true);
  expect(breaker.succeeded()).toBe(true);
  expect(breaker.isClosed).toBe(true);
  // Its old failures are forgotten.
  expect(breaker.failed(3 * PAUSE_MS, false)).toBe(false);
});

it("that calls without an answer have opened takes one call at a time after a good check, and closes by its answer", () => {
  const breaker = new Breaker();
  for (let call = 0; call < 3; call += 1) breaker.failed(0, false, true);
  expect(breaker.takesProbe(PAUSE_MS)).toBe(true);
  expect(breaker.foundWell()).toBe(false);
  expect([breaker.isClosed, breaker.takesCall]).toEqual([false, true]);
  expect([breaker.beginsTrial(), breaker.takesCall, breaker.beginsTrial()]).toEqual([
    true,
    false,
    false,
  ]);
  // The client of the trial has left.
  breaker.endTrial();
  expect([breaker.takesCall, breaker.beginsTrial()]).toEqual([true, true]);
  expect(breaker.succeeded()).toBe(true);
  breaker.endTrial();
  expect([breaker.isClosed, breaker.beginsTrial()]).toEqual([true, false]);
});

it("whose trial fails pauses again, and needs another one", () => {
  const breaker = new Breaker();
  for (let call = 0; call < 3; call += 1) breaker.failed(0, false, call === 1);
  breaker.takesProbe(PAUSE_MS);
  breaker.foundWell();
  expect(breaker.beginsTrial()).toBe(true);
  expect(breaker.failed(PAUSE_MS, false, true)).toBe(false);
  breaker.endTrial();
  expect([breaker.isOnTrial, breaker.takesCall]).toEqual([false, false]);
  expect(breaker.takesProbe(2 * PAUSE_MS)).toBe(true);
  expect([breaker.foundWell(), breaker.isOnTrial]).toEqual([false, true]);
});

it("that failed calls or checks alone have opened is closed by a good check", () => {
  const breaker = new Breaker();
  for (let call = 0; call < 3; call += 1) breaker.failed(0, false);
  breaker.takesProbe(PAUSE_MS);
  expect([breaker.foundWell(), breaker.isClosed]).toEqual([true, true]);
});
