import { describe, expect, it } from "vitest";
import { ServiceError } from "../../src/core/service-error.ts";
import { createOpenCalls } from "../../src/gateway/open-calls.ts";
import { BodiesInHand } from "../../src/gateway/overload/bodies-in-hand.ts";

const TIMEOUT_MS = 60_000;
const never = () => new AbortController().signal;

describe("An open call", () => {
  it("is aborted when its client leaves, also when that was before it was opened", () => {
    const client = new AbortController();
    const calls = createOpenCalls(TIMEOUT_MS);
    const early = calls.open(client.signal);
    expect(early.signal.aborted).toBe(false);
    client.abort();
    const late = calls.open(client.signal);
    expect([early.signal.aborted, late.signal.aborted]).toEqual([true, true]);
    early.close();
    late.close();
  });

  it("is aborted with the words for its client when its time is up", async () => {
    const call = createOpenCalls(20).open(new AbortController().signal);
    await new Promise((resolve) => call.signal.addEventListener("abort", () => resolve(undefined)));
    expect(call.signal.reason).toMatchObject({ code: "upstream_timeout" });
    call.close();
  });

  it("is no longer one of those that a stopping server ends once it is closed", () => {
    const calls = createOpenCalls(TIMEOUT_MS);
    const over = calls.open(new AbortController().signal);
    const open = calls.open(new AbortController().signal);
    over.close();
    expect(calls.count()).toBe(1);
    const reason = new ServiceError("overloaded", "The server is stopping.");
    calls.abortAll(reason);
    expect(over.signal.aborted).toBe(false);
    expect(open.signal.reason).toBe(reason);
    open.close();
  });

  it("counts as a stream from its beginning as one to its end, and once", () => {
    const calls = createOpenCalls(TIMEOUT_MS);
    const [plain, stream] = [calls.open(never()), calls.open(never())];
    expect([calls.count(), calls.streams()]).toEqual([2, 0]);
    stream.beginStream();
    stream.beginStream();
    expect([calls.count(), calls.streams()]).toEqual([2, 1]);
    stream.close();
    stream.close();
    stream.beginStream();
    expect([calls.count(), calls.streams()]).toEqual([1, 0]);
    plain.close();
  });
});

describe("What a backend adds to the body of a call", () => {
  it("counts among the bodies in hand until it is released or the call ends", () => {
    const bodies = new BodiesInHand(1_000);
    const calls = createOpenCalls(TIMEOUT_MS, bodies);
    const [first, second] = [calls.open(never()), calls.open(never())];
    first.holdBody(100);
    first.addBytes(300);
    first.addBytes(300);
    expect(bodies.bytes).toBe(700);
    expect(() => second.addBytes(301)).toThrow(expect.objectContaining({ code: "overloaded" }));
    first.releaseBody();
    expect(bodies.bytes).toBe(600);
    first.releaseAdded();
    first.releaseAdded();
    expect(bodies.bytes).toBe(0);
    second.addBytes(900);
    second.close();
    second.addBytes(5);
    expect(bodies.bytes).toBe(0);
    first.close();
  });

  it("finds room where there is no other call, whatever its size", () => {
    const bodies = new BodiesInHand(1_000);
    const call = createOpenCalls(TIMEOUT_MS, bodies).open(never());
    call.holdBody(900);
    call.addBytes(5_000);
    expect(bodies.bytes).toBe(5_900);
    call.close();
  });
});
