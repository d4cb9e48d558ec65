import { describe, expect, it } from "vitest";
import type { ChatEvent, ChatEvents } from "../../../src/core/chat/chat-event.ts";
import { ServiceError } from "../../../src/core/service-error.ts";
import type { TokenBudget } from "../../../src/gateway/gateway.ts";
import { CallMeter } from "../../../src/gateway/meter/call-meter.ts";
import { meterCall, meterRound } from "../../../src/gateway/meter/meter.ts";
import type { UsageEntry, UsageRecord, UsageStart } from "../../../src/usage/usage-record.ts";
import { noLimits } from "../../support/stages/no-limits.ts";

const delta = (text: string): ChatEvent => ({ type: "text-delta", block: 0, text });
const start: ChatEvent = { type: "start" };
const caller = {
  kind: "key",
  keyId: "key_1",
  ownerId: "usr_1",
  role: "user",
  assistantId: null,
  passthrough: false,
  maxLevel: "read_only",
  toolScope: { tools: [], sql_connections: [] },
  limits: null,
  isRestricted: true,
} as const;

const START = {
  id: "req_1",
  keyId: "key_1",
  channel: "chat",
  model: "m",
  startedAt: 1_000,
  inputTokens: 7,
} as const;

interface CallOptions {
  readonly close?: (record: UsageRecord) => Promise<void> | undefined;
  readonly recordStart?: UsageEntry["recordStart"];
  readonly budget?: TokenBudget;
  readonly assistantId?: string;
}

/** A call whose first round has begun. */
async function openCall({
  close = () => undefined,
  recordStart = () => undefined,
  budget,
  assistantId,
}: CallOptions = {}) {
  const starts: UsageStart[] = [];
  const records: UsageRecord[] = [];
  const progress: number[] = [];
  const settled: (number | "cancelled")[] = [];
  const time = { now: 1_000 };
  const controller = new AbortController();
  const entry = {
    recordStart,
    progress: (tokens: number) => void progress.push(tokens),
    close: (record: UsageRecord) => {
      records.push(record);
      return close(record);
    },
  };
  const gateway = {
    journal: {
      open: (begun: UsageStart) => {
        starts.push(begun);
        return entry;
      },
    },
    clock: { now: () => time.now },
    limits: noLimits,
  };
  const admission = {
    outputTokens: undefined,
    status: {},
    extend: (tokens: number) => tokens,
    settle: (tokens: number) => void settled.push(tokens),
    cancel: () => void settled.push("cancelled"),
  };
  const { signal } = controller;
  const client = { requestId: "req_1", caller, channel: "chat", startedAt: 1_000, signal } as const;
  const meter = new CallMeter(gateway, client, { admission, budget });
  if (assistantId !== undefined) meter.setAssistant(assistantId);
  await meter.begin({ model: "m", inputTokens: 7, budget });
  return { meter, starts, records, progress, settled, time, controller };
}

/** The events of a call as its client gets them. */
const metered = (meter: CallMeter, events: ChatEvents) => meterCall(meter, Promise.resolve(events));
const iterated = async (meter: CallMeter, events: ChatEvents) =>
  (await metered(meter, events))[Symbol.asyncIterator]();
/** The call fails before its first event. */
const failed = (meter: CallMeter, error: ServiceError) =>
  expect(meterCall(meter, Promise.reject(error))).rejects.toBeInstanceOf(ServiceError);

async function* source(...batches: ChatEvent[][]): ChatEvents {
  for (const batch of batches) yield batch;
}

async function drain(metering: Promise<ChatEvents>): Promise<ChatEvent[]> {
  const all: ChatEvent[] = [];
  for await (const batch of await metering) all.push(...batch);
  return all;
}

describe("the meter", () => {
  it("counts what a failed answer has used, where its vendor says so", async () => {
    const usage = { inputTokens: 30, outputTokens: 500, reasoningTokens: 500 };
    const error = new ServiceError("upstream_error", "No valid call.", { usage });
    const used = { inputTokens: 30, outputTokens: 500, outcome: "error", estimated: false };
    const atOnce = await openCall();
    await failed(atOnce.meter, error);
    expect(atOnce.records).toMatchObject([{ ...used, status: 502, firstTokenMs: null }]);
    const amid = await openCall();
    await drain(metered(amid.meter, source([start, delta("Hi")], [{ type: "error", error }])));
    expect(amid.records).toMatchObject([used]);
    expect([...atOnce.settled, ...amid.settled]).toEqual([530, 530]);
  });

  it("adds it to what a fallback uses, and nothing for failures that do not say", async () => {
    const usage = { inputTokens: 30, outputTokens: 500 };
    const { meter, records, settled } = await openCall();
    meter.observeFailure(new ServiceError("upstream_error", "No valid call.", { usage }));
    meter.retry({ model: "n", inputTokens: 7 });
    meter.observeFailure(new ServiceError("upstream_timeout", "Too slow."));
    meter.retry({ model: "o", inputTokens: 7 });
    const end: ChatEvent = { type: "finish", reason: "stop", usage };
    await drain(metered(meter, source([start, end])));
    expect(records).toMatchObject([{ model: "o", inputTokens: 60, outputTokens: 1_000 }]);
    expect(settled).toEqual([1_060]);
  });

  it("writes the vendor's figures before the end of the stream is handed out", async () => {
    const { meter, records, time } = await openCall();
    const usage = { inputTokens: 11, outputTokens: 5, cachedTokens: 3, reasoningTokens: 2 };
    const answer = source([start, delta("hello")], [{ type: "finish", reason: "stop", usage }]);
    const events = await iterated(meter, answer);
    time.now = 1_250;
    await events.next();
    expect(records).toEqual([]);
    time.now = 2_000;
    await events.next();
    expect(records).toEqual([
      {
        ...START,
        ...usage,
        outcome: "ok",
        status: 200,
        estimated: false,
        latencyMs: 1_000,
        firstTokenMs: 250,
      },
    ]);
    expect(await events.next()).toEqual({ done: true, value: undefined });
    expect(records).toHaveLength(1);
  });

  it("writes no negative times when the clock is set back during the call", async () => {
    const { meter, records, time } = await openCall();
    const end: ChatEvent = { type: "finish", reason: "stop" };
    const events = await iterated(meter, source([start, delta("hello")], [end]));
    time.now = 400;
    await events.next();
    time.now = -3_600_000;
    await events.next();
    expect(records).toMatchObject([{ latencyMs: 0, firstTokenMs: 0 }]);
  });

  it("hands out no first events before the start is on file, and needs no start for an answer in one", async () => {
    let recorded = () => {};
    let asked = 0;
    const recordStart = () => {
      asked += 1;
      return new Promise<void>((resolve) => {
        recorded = resolve;
      });
    };
    const { meter } = await openCall({ recordStart });
    const end: ChatEvent = { type: "finish", reason: "stop" };
    const events = await iterated(meter, source([start], [delta("a")], [end]));
    let isOut = false;
    const first = events.next().finally(() => {
      isOut = true;
    });
    await new Promise(setImmediate);
    expect([asked, isOut]).toEqual([1, false]);
    recorded();
    await first;
    await events.next();
    await events.next();
    expect(asked).toBe(1);
    const whole = await openCall({ recordStart });
    await drain(metered(whole.meter, source([start, delta("a"), end])));
    expect(asked).toBe(1);
  });

  it("writes the assistant to the start and the end, and nothing for a plain model", async () => {
    const ofAssistant = await openCall({ assistantId: "asst_1" });
    await ofAssistant.meter.finish();
    expect(ofAssistant.starts).toEqual([{ ...START, assistantId: "asst_1" }]);
    expect(ofAssistant.records).toMatchObject([{ assistantId: "asst_1", model: "m" }]);
    const plain = await openCall();
    await plain.meter.finish();
    expect(JSON.stringify([plain.starts, plain.records])).not.toContain("assistant");
  });

  it("estimates when the vendor never tells, and marks it", async () => {
    const { meter, records } = await openCall();
    const events = await drain(
      metered(meter, source([start, delta("12345678")], [{ type: "finish", reason: "stop" }])),
    );
    expect(events.at(-1)).toMatchObject({ usage: { inputTokens: 7, outputTokens: 2 } });
    expect(records[0]).toMatchObject({ inputTokens: 7, outputTokens: 2, estimated: true });
  });

  it.each([
    ["0 for all", { inputTokens: 0, outputTokens: 0 }, { inputTokens: 7, outputTokens: 2 }],
    ["no prompt", { inputTokens: 0, outputTokens: 5 }, { inputTokens: 7, outputTokens: 5 }],
    ["no output", { inputTokens: 9, outputTokens: 0 }, { inputTokens: 9, outputTokens: 2 }],
  ])(
    "estimates what a vendor tells as %s, for the row and the limits",
    async (_, usage, counted) => {
      const { meter, records, settled } = await openCall();
      const end = { type: "finish", reason: "stop", usage } as const;
      await drain(metered(meter, source([start, delta("12345678")], [end])));
      expect(records).toMatchObject([{ ...counted, estimated: true }]);
      expect(settled).toEqual([counted.inputTokens + counted.outputTokens]);
    },
  );

  it("believes a vendor that an answer without a word has no tokens", async () => {
    const { meter, records } = await openCall();
    const usage = { inputTokens: 9, outputTokens: 0 };
    await drain(metered(meter, source([start], [{ type: "finish", reason: "stop", usage }])));
    expect(records).toMatchObject([{ ...usage, estimated: false }]);
  });

  it("keeps the vendor's own count of the prompt when the client leaves before the end", async () => {
    for (const [told, inputTokens] of [
      [5_000, 5_000],
      [0, 7],
      [undefined, 7],
    ] as const) {
      const budget = { inputTokens: 100, outputTokens: 100 };
      const { meter, records, settled } = await openCall({ budget });
      const answer = source([{ type: "start", inputTokens: told }, delta("1234")]);
      const events = await iterated(meter, answer);
      await events.next();
      await events.return?.();
      expect(records).toMatchObject([{ outcome: "aborted", inputTokens, outputTokens: 1 }]);
      expect(settled).toEqual([inputTokens + 2]);
    }
  });

  it("charges what was left early by its bytes, what is not shown included, within what is reserved", async () => {
    const block = { type: "block-start", block: 0, kind: "reasoning" } as const;
    const hidden = { type: "signature", block: 0, redacted: "r".repeat(300) } as const;
    const shown = { type: "reasoning-delta", block: 0, text: "r".repeat(300) } as const;
    const seal = { type: "signature", block: 0, signature: "s".repeat(90) } as const;
    const finish = { type: "finish", reason: "stop" } as const;
    const cases: readonly [ChatEvent[], number, number][] = [
      [[delta("日本語の文章")], 2, 6],
      [[block, hidden], 0, 100],
      [[block, shown, seal], 75, 100],
      [[delta("日".repeat(1_000))], 200, 200],
      [[delta("日本語の文章"), finish], 2, 2],
    ];
    for (const [events, outputTokens, charged] of cases) {
      const budget = { inputTokens: 100, outputTokens: 200 };
      const { meter, records, settled } = await openCall({ budget });
      const iterator = await iterated(meter, source([start, ...events]));
      await iterator.next();
      await iterator.return?.();
      expect(records).toMatchObject([{ inputTokens: 7, outputTokens }]);
      expect(settled).toEqual([7 + charged]);
    }
  });

  it("records an error in the stream with the tokens so far and the status the client saw", async () => {
    const { meter, records } = await openCall();
    const error = new ServiceError("upstream_error", "gone");
    await drain(metered(meter, source([start, delta("1234")], [{ type: "error", error }])));
    expect(records).toMatchObject([{ outcome: "error", status: 200, outputTokens: 1 }]);
  });

  it("turns a source that throws or ends without a word into one error event", async () => {
    for (const failing of [
      source([start]),
      (async function* () {
        yield [start];
        throw new ServiceError("upstream_error", "reset");
      })(),
    ]) {
      const { meter, records } = await openCall();
      const events = await drain(metered(meter, failing));
      expect(events.map((event) => event.type)).toEqual(["start", "error"]);
      expect(records).toMatchObject([{ outcome: "error" }]);
    }
  });

  it("records a client that left as aborted, also when nothing was ever read", async () => {
    const never = await openCall();
    await (await iterated(never.meter, source([start]))).return?.();
    expect(never.records).toMatchObject([{ outcome: "aborted", status: 499, firstTokenMs: null }]);

    const midway = await openCall();
    const events = await iterated(midway.meter, source([start, delta("12345")], [delta("6")]));
    await events.next();
    await events.return?.();
    await events.return?.();
    expect(midway.records).toMatchObject([{ outcome: "aborted", status: 200, outputTokens: 2 }]);
  });

  it("records an abort that surfaces as a failure of the source as aborted", async () => {
    const { meter, records, controller } = await openCall();
    const failing = (async function* () {
      yield [start];
      controller.abort();
      throw new Error("socket closed");
    })();
    await drain(metered(meter, failing));
    expect(records).toMatchObject([{ outcome: "aborted" }]);
  });

  it("shows the client why the gateway itself ended the call", async () => {
    const { meter, records, controller } = await openCall();
    const stopping = new ServiceError("overloaded", "stopping");
    const failing = (async function* () {
      yield [start];
      controller.abort(stopping);
      throw new Error("socket closed");
    })();
    const events = await drain(metered(meter, failing));
    expect(events.at(-1)).toEqual({ type: "error", error: stopping });
    expect(records).toMatchObject([{ outcome: "error" }]);
  });

  it("records a call that failed before its first event with the status of the error", async () => {
    const { meter, records } = await openCall();
    await failed(meter, new ServiceError("rate_limit_exceeded", "upstream says no"));
    expect(records).toMatchObject([{ outcome: "rate_limited", status: 429, outputTokens: 0 }]);
  });

  it.each([
    "rate_limit_exceeded",
    "upstream_error",
    "overloaded",
    "context_length_exceeded",
    "internal_error",
  ] as const)("counts no tokens for a call that no engine answered: %s", async (code) => {
    for (const fail of [
      (failing: CallMeter) => failed(failing, new ServiceError(code, "no")),
      (failing: CallMeter) =>
        drain(metered(failing, source([{ type: "error", error: new ServiceError(code, "no") }]))),
    ]) {
      const { meter, records, settled } = await openCall();
      await fail(meter);
      expect(records).toMatchObject([{ inputTokens: 0, outputTokens: 0 }]);
      expect(settled).toEqual([0]);
    }
  });

  it("counts the prompt of a call that an engine may have worked on", async () => {
    const timedOut = await openCall();
    await failed(timedOut.meter, new ServiceError("upstream_timeout", "silent"));
    const left = await openCall();
    left.controller.abort();
    await failed(left.meter, new ServiceError("upstream_error", "cut"));
    const stopped = await openCall();
    const stopping = new ServiceError("overloaded", "stopping");
    stopped.controller.abort(stopping);
    await failed(stopped.meter, stopping);
    const broken = await openCall();
    const error = new ServiceError("upstream_error", "gone");
    await drain(metered(broken.meter, source([start], [{ type: "error", error }])));
    for (const { records, settled } of [timedOut, left, stopped, broken]) {
      expect(records).toMatchObject([{ inputTokens: 7, outputTokens: 0 }]);
      expect(settled).toEqual([7]);
    }
  });

  it("never hands out the end of an answer whose row could not be kept", async () => {
    const close = () => Promise.reject(new ServiceError("storage_unavailable", "no space"));
    const { meter } = await openCall({ close });
    const events = await drain(
      metered(meter, source([start, delta("a")], [delta("b"), { type: "finish", reason: "stop" }])),
    );
    expect(events.map((event) => event.type)).toEqual([
      "start",
      "text-delta",
      "text-delta",
      "error",
    ]);
  });

  it("tells the journal of further rounds what their prompts have used too, for the start has the first only", async () => {
    const { meter, progress, time } = await openCall();
    const usage = { inputTokens: 20, outputTokens: 5 };
    await drain(
      Promise.resolve(meterRound(meter, source([{ type: "finish", reason: "stop", usage }]))),
    );
    await meter.begin({ model: "m", inputTokens: 40 });
    time.now += 1_000;
    const further = meterRound(meter, source([start, delta("1234")]));
    await further[Symbol.asyncIterator]().next();
    // With the start's 7 that makes 25 for the first round, 40 for the second prompt, and the delta.
    expect(progress).toEqual([18 + 40 + 1]);
    expect(meter.charge).toBe(25 + 40 + 2);
  });

  it("tells the journal how far a long stream is, at most once a second", async () => {
    const { meter, progress, time } = await openCall();
    const long = (async function* () {
      for (let step = 0; step < 10; step++) {
        time.now += 400;
        yield [delta("1234")];
      }
    })();
    await drain(metered(meter, long));
    expect(progress).toEqual([3, 6, 9]);
  });
});
