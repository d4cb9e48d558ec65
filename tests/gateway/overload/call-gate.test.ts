import { describe, expect, it } from "vitest";
import {
  type CallGate,
  type LoadReadings,
  openCallGate,
} from "../../../src/gateway/overload/call-gate.ts";
import { createLog } from "../../../src/lib/log.ts";

const LOOK_MS = 100;

interface GateStage {
  gate: CallGate;
  /** Calls under way, to be set. */
  calls: number;
  /** Undefined: it cannot be read. */
  memoryShare: number | undefined;
  freed: number;
  /** Looks so often at a loop of this delay. */
  readonly look: (loopDelayMs: number, times?: number) => void;
  /** How many of so many further calls are let in beside those under way. */
  readonly letIn: (further: number) => number;
}

function openStage(): GateStage {
  let now = 0;
  let onLook: (delayMs: number) => void = () => undefined;
  const readings: LoadReadings = {
    watchLoop: (told) => {
      onLook = told;
      return () => undefined;
    },
    memoryShare() {
      if (stage.memoryShare === undefined) throw new Error("EMFILE");
      return stage.memoryShare;
    },
    now: () => now,
    freeMemory: () => {
      stage.freed += 1;
    },
  };
  const stage: Omit<GateStage, "gate"> = {
    calls: 0,
    memoryShare: 0,
    freed: 0,
    look(loopDelayMs, times = 1) {
      for (let look = 0; look < times; look += 1) {
        now += LOOK_MS + loopDelayMs;
        onLook(loopDelayMs);
      }
    },
    letIn(further) {
      const before = stage.calls;
      for (let call = 0; call < further; call += 1)
        if (gate.refusal() === undefined) stage.calls += 1;
      return stage.calls - before;
    },
  };
  const gate = openCallGate({
    openCalls: { count: () => stage.calls },
    log: createLog("silent"),
    readings,
  });
  return Object.assign(stage, { gate });
}

describe("Model calls at once", () => {
  it("are not limited while the loop comes round in time, however many they are", () => {
    const stage = openStage();
    stage.calls = 9_000;
    stage.look(20, 100);
    expect(stage.letIn(1_000)).toBe(1_000);
  });

  it("are not limited for a burst that makes the loop late for a second, nor for another one later", () => {
    const stage = openStage();
    stage.calls = 4_000;
    stage.look(300, 3);
    stage.look(5, 20);
    stage.look(300, 3);
    expect(stage.letIn(10)).toBe(10);
  });

  it("are never so few that the loop could not carry them", () => {
    const stage = openStage();
    stage.calls = 128;
    stage.look(500, 100);
    expect(stage.letIn(10)).toBe(10);
  });

  it("become fewer while the loop stays late, and the rest is refused with a time to come again", () => {
    const stage = openStage();
    stage.calls = 1_000;
    stage.look(200, 5);
    expect(stage.gate.refusal()).toMatchObject({ code: "overloaded", status: 503 });
    const told = [1, 2, 3].map(() => stage.gate.refusal()?.retryAfterSeconds);
    expect(new Set(told)).toEqual(new Set([1, 2, 3]));
    // As many as are under way leave; the loop is late for so long that the fewest are let in at last.
    stage.calls = 0;
    const first = stage.letIn(1_000);
    expect(first).toBeGreaterThan(128);
    expect(first).toBeLessThan(1_000);
    stage.look(200, 20);
    stage.calls = 0;
    expect(stage.letIn(1_000)).toBe(128);
  });

  it("become fewer also where single readings fall between the work", () => {
    const stage = openStage();
    stage.calls = 1_000;
    for (let round = 0; round < 10; round += 1) {
      stage.look(150, 3);
      stage.look(20);
    }
    expect(stage.gate.refusal()).toMatchObject({ code: "overloaded" });
  });

  it("become more again while there is room, and have no limit when nobody has come near it for a while", () => {
    const stage = openStage();
    stage.calls = 1_000;
    stage.look(200, 30);
    stage.calls = 0;
    const fewest = stage.letIn(1_000);
    stage.look(10, 20);
    expect(stage.letIn(1_000)).toBeGreaterThan(0);
    expect(stage.calls).toBeLessThan(2 * fewest);
    stage.calls = 0;
    stage.look(10, 50);
    expect(stage.letIn(5_000)).toBe(5_000);
  });

  it("are refused from 85% of the memory limit on, but for one; memory is freed meanwhile", () => {
    const stage = openStage();
    stage.calls = 3;
    stage.memoryShare = 0.84;
    stage.look(0, 10);
    expect(stage.letIn(1)).toBe(1);
    stage.memoryShare = 0.85;
    stage.look(0, 10);
    expect([stage.letIn(5), stage.freed]).toEqual([0, 1]);
    stage.calls = 0;
    expect(stage.letIn(5)).toBe(1);
    stage.memoryShare = 0.5;
    stage.look(0, 10);
    expect(stage.letIn(5)).toBe(5);
  });

  it("are judged by the last reading of the memory while no file descriptor is left to read it with", () => {
    const stage = openStage();
    stage.calls = 3;
    stage.memoryShare = 0.9;
    stage.look(0, 10);
    stage.memoryShare = undefined;
    stage.look(0, 10);
    expect(stage.letIn(5)).toBe(0);
    stage.memoryShare = 0.5;
    stage.look(0, 10);
    expect(stage.letIn(5)).toBe(5);
  });

  it("are as few as the limit says with those that wait to begin", () => {
    const stage = openStage();
    stage.calls = 1_000;
    stage.look(500, 100);
    stage.calls = 100;
    // None of them is among the open ones before its turn.
    let letIn = 0;
    for (let call = 0; call < 1_000; call += 1) {
      if (stage.gate.refusal() !== undefined) continue;
      letIn += 1;
      if (stage.gate.start() === undefined) stage.calls += 1;
    }
    expect([letIn, stage.calls, stage.gate.waiting()]).toEqual([28, 116, 12]);
  });

  it("are refused in their turn when memory has become short meanwhile", async () => {
    const stage = openStage();
    stage.calls = 100;
    const starts = Array.from({ length: 17 }, () => stage.gate.start());
    stage.memoryShare = 0.9;
    stage.look(0, 10);
    expect(await starts[16]).toMatchObject({ code: "overloaded", status: 503 });
    stage.memoryShare = 0.5;
    stage.look(0, 10);
    const later = Array.from({ length: 17 }, () => stage.gate.start());
    expect(await later[16]).toBeUndefined();
  });

  it("are refused while others have waited for a second to begin, but not the work of open ones", async () => {
    const stage = openStage();
    stage.calls = 100;
    const starts = Array.from({ length: 17 + 5 * 16 }, () => stage.gate.start());
    for (let turn = 0; turn < 4; turn += 1) {
      // Of a turn a quarter of a second counts.
      stage.look(200);
      expect(stage.gate.refusal()).toBeUndefined();
      await starts[16 * (turn + 2) - 1];
    }
    expect(stage.gate.refusal()).toMatchObject({ code: "overloaded" });
    expect(stage.gate.refusal(true)).toBeUndefined();
    await Promise.all(starts);
    expect(stage.gate.refusal()).toBeUndefined();
  });

  it("are refused at once while refusals are few, and else within about a second, so that they cost little", async () => {
    const stage = openStage();
    const turns = Array.from({ length: 1_300 }, () => stage.gate.turn());
    const waiting = turns.flatMap((turn) => (turn === undefined ? [] : [turn]));
    expect([turns.indexOf(waiting[0]), waiting.length]).toEqual([100, 1_000]);
    let given = 0;
    for (const turn of waiting) void turn.then(() => (given += 1));
    stage.look(0);
    await Promise.all(waiting.slice(0, 100));
    expect(given).toBe(100);
    stage.look(0, 9);
    await Promise.all(waiting);
    expect(given).toBe(1_000);
  });
});
