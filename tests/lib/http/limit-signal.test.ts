import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { limitSignal } from "../../../src/lib/http/limit-signal.ts";
import { collectGarbage } from "../../support/collect-garbage.ts";

const LIMIT_MS = 300;

/** What the signal aborts with. Nobody holds the signal but who listens to it. */
function reasonOf(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) =>
    signal.addEventListener("abort", () => resolve(signal.reason), { once: true }),
  );
}

test("a limited signal aborts when its time is over, whatever garbage is collected meanwhile", async () => {
  const reason = reasonOf(limitSignal(new AbortController().signal, LIMIT_MS));
  for (let round = 0; round < 10; round += 1) {
    collectGarbage();
    await sleep(LIMIT_MS / 20);
  }
  const late = sleep(10_000, "never", { ref: false });
  expect(await Promise.race([reason, late])).toMatchObject({ name: "TimeoutError" });
});

test("a limited signal aborts at once with the one it limits", async () => {
  const stopping = new AbortController();
  const reason = reasonOf(limitSignal(stopping.signal, 60_000));
  collectGarbage();
  stopping.abort(new Error("stopped"));
  expect(await reason).toEqual(new Error("stopped"));
  expect(limitSignal(stopping.signal, 60_000).aborted).toBe(true);
});
