import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { CallStarts } from "../../../src/gateway/overload/call-starts.ts";

const A_TURN = 16;

/** Asks for so many starts at once, and notes the order in which they are given. */
function openStage(running: number) {
  const stage = { running, now: 0, begun: [] as number[] };
  const starts = new CallStarts({ running: () => stage.running, now: () => stage.now });
  const arrive = (from: number, count: number) => {
    for (let call = from; call < from + count; call += 1) {
      const start = starts.next();
      if (start === undefined) stage.begun.push(call);
      else void start.then(() => stage.begun.push(call));
    }
  };
  return Object.assign(stage, { starts, arrive });
}

const upTo = (count: number) => Array.from({ length: count }, (_, call) => call);

describe("Calls that arrive together", () => {
  it("all begin at once while few are running", () => {
    const stage = openStage(63);
    stage.arrive(0, 1_000);
    expect(stage.begun).toEqual(upTo(1_000));
  });

  it("begin a few a turn of the event loop, in the order of their arrival", async () => {
    const stage = openStage(64);
    stage.arrive(0, 3 * A_TURN);
    expect(stage.begun).toEqual(upTo(A_TURN));
    await nextTurn();
    expect(stage.begun).toEqual(upTo(2 * A_TURN));
    // One that arrives now is not served before those that wait, although few are running.
    stage.running = 0;
    stage.arrive(3 * A_TURN, 1);
    expect(stage.begun).toEqual(upTo(2 * A_TURN));
    await nextTurn();
    await nextTurn();
    expect(stage.begun).toEqual(upTo(3 * A_TURN + 1));
  });

  it("do not wait for those of an earlier turn", async () => {
    const stage = openStage(64);
    for (let turn = 0; turn < 3; turn += 1) {
      stage.arrive(turn * A_TURN, A_TURN);
      expect(stage.begun).toEqual(upTo((turn + 1) * A_TURN));
      await nextTurn();
    }
  });

  it("are counted while they wait", async () => {
    const stage = openStage(64);
    stage.arrive(0, 2 * A_TURN + 1);
    expect(stage.starts.waiting).toBe(A_TURN + 1);
    await nextTurn();
    expect(stage.starts.waiting).toBe(1);
    await nextTurn();
    expect(stage.starts.waiting).toBe(0);
  });

  it("tell how long the first of those that wait has waited", async () => {
    const stage = openStage(64);
    stage.arrive(0, 3 * A_TURN);
    stage.now = 5;
    expect(stage.starts.waitedMs).toBe(0);
    await nextTurn();
    stage.arrive(3 * A_TURN, 1);
    expect(stage.starts.waitedMs).toBe(5);
    stage.now = 12;
    await nextTurn();
    // The one that is left came with the first turn.
    expect(stage.starts.waitedMs).toBe(7);
    await nextTurn();
    expect(stage.starts.waitedMs).toBe(0);
  });

  it("have not waited for a pause of the process", async () => {
    const stage = openStage(64);
    stage.arrive(0, 4 * A_TURN);
    stage.now = 60_000;
    await nextTurn();
    expect(stage.starts.waitedMs).toBe(250);
    stage.now += 10;
    await nextTurn();
    expect(stage.starts.waitedMs).toBe(260);
  });
});
