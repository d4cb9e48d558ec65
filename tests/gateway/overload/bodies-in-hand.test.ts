import { describe, expect, it } from "vitest";
import { createOpenCalls } from "../../../src/gateway/open-calls.ts";
import { BodiesInHand } from "../../../src/gateway/overload/bodies-in-hand.ts";

const MB = 1024 * 1024;
const OVERLOADED = expect.objectContaining({ code: "overloaded", retryAfterSeconds: 2 });
const open = (bodies: BodiesInHand) =>
  createOpenCalls(60_000, bodies).open(new AbortController().signal);

describe("The bodies in hand", () => {
  it("fill one budget, whoever's they are, and are refused where that has no room", () => {
    const bodies = new BodiesInHand(2 * MB);
    const calls = [open(bodies), open(bodies), open(bodies)];
    calls[0]?.holdBody(MB);
    calls[1]?.holdBody(MB);
    expect(() => calls[2]?.holdBody(1)).toThrow(OVERLOADED);
    expect(bodies.bytes).toBe(2 * MB);
  });

  it("count once, as long as they were said to be or have become", () => {
    const bodies = new BodiesInHand(2 * MB);
    const call = open(bodies);
    for (const bytes of [1_000, 500, 1_500, 1_500]) call.holdBody(bytes);
    expect(bodies.bytes).toBe(1_500);
  });

  it("are given back when nothing needs them, when the call ends, and once", () => {
    const bodies = new BodiesInHand(2 * MB);
    const [released, closed] = [open(bodies), open(bodies)];
    released.holdBody(1_000);
    closed.holdBody(2_000);
    released.releaseBody();
    released.releaseBody();
    expect(bodies.bytes).toBe(2_000);
    released.close();
    closed.close();
    closed.close();
    // What still arrives for a call that is over.
    closed.holdBody(3_000);
    expect(bodies.bytes).toBe(0);
  });

  it("leave room for small ones where large ones have filled theirs", () => {
    const bodies = new BodiesInHand(16 * MB);
    for (let calls = 0; calls < 7; calls += 1) open(bodies).holdBody(2 * MB);
    expect(() => open(bodies).holdBody(2 * MB)).toThrow(OVERLOADED);
    open(bodies).holdBody(MB);
    expect(bodies.bytes).toBe(15 * MB);
  });

  it("leave half of the room to others where recordings have filled theirs", () => {
    const bodies = new BodiesInHand(16 * MB);
    const recordings = Array.from({ length: 4 }, () => open(bodies));
    for (const recording of recordings) recording.holdBody(2 * MB, "recording");
    const next = open(bodies);
    expect(() => next.holdBody(MB, "recording")).toThrow(OVERLOADED);
    open(bodies).holdBody(2 * MB);
    recordings[0]?.releaseBody();
    next.holdBody(2 * MB, "recording");
    expect(bodies.bytes).toBe(10 * MB);
  });

  it("may exceed the budget one at a time: none is refused for ever", () => {
    const bodies = new BodiesInHand(MB);
    const call = open(bodies);
    call.holdBody(3 * MB);
    expect(() => open(bodies).holdBody(1)).toThrow(OVERLOADED);
    call.close();
    open(bodies).holdBody(3 * MB);
  });
});
