import { describe, expect, it } from "vitest";
import { createReplayMemory } from "../../../src/backends/replay/replay-memory.ts";
import type { ChatEvent, ChatEvents } from "../../../src/core/chat/chat-event.ts";
import type {
  AssistantPart,
  ChatMessage,
  ChatRequest,
} from "../../../src/core/chat/chat-request.ts";

const HOUR_MS = 60 * 60 * 1000;

async function* inBatches(events: readonly ChatEvent[], size: number): ChatEvents {
  for (let at = 0; at < events.length; at += size) yield events.slice(at, at + size);
}

async function passed(events: ChatEvents): Promise<ChatEvent[]> {
  const all: ChatEvent[] = [];
  for await (const batch of events) all.push(...batch);
  return all;
}

/** An answer of one sealed thought, a word, and one sealed call; the thought's text in two pieces. */
function answer(callId: string, reason: "tool-calls" | "stop" = "tool-calls"): ChatEvent[] {
  return [
    { type: "start" },
    { type: "block-start", block: 0, kind: "reasoning" },
    { type: "reasoning-delta", block: 0, text: "Let me " },
    { type: "reasoning-delta", block: 0, text: "look." },
    { type: "signature", block: 0, signature: `thought-${callId}` },
    { type: "block-end", block: 0 },
    { type: "block-start", block: 1, kind: "text" },
    { type: "text-delta", block: 1, text: "Looking." },
    { type: "block-end", block: 1 },
    {
      type: "tool-call-start",
      block: 2,
      callId,
      name: "look",
      signature: `gemini.call-${callId}`,
    },
    { type: "tool-call-delta", block: 2, arguments: "{}" },
    { type: "block-end", block: 2 },
    { type: "finish", reason },
  ];
}

function request(...content: readonly AssistantPart[]): ChatRequest {
  return {
    model: "m",
    messages: [{ role: "assistant", content }],
    tools: [],
    parameters: {},
    stream: true,
  };
}

const call = (callId: string): AssistantPart => ({
  type: "tool-call",
  callId,
  name: "look",
  arguments: "{}",
});
const text = (words: string): AssistantPart => ({ type: "text", text: words });
const thought = (callId: string): AssistantPart => ({
  type: "reasoning",
  text: "Let me look.",
  signature: `thought-${callId}`,
  redacted: undefined,
});
const sealed = (callId: string) => ({ ...call(callId), signature: `gemini.call-${callId}` });

function memory() {
  let now = 0;
  const { remember, restore } = createReplayMemory({ now: () => now });
  return {
    restore,
    remember,
    hear: (events: readonly ChatEvent[], size = 3) => passed(remember(inBatches(events, size))),
    restored: (...content: readonly AssistantPart[]) =>
      restore(request(...content)).messages[0]?.content,
    pass: (ms: number) => {
      now += ms;
    },
  };
}

describe("the memory of seals", () => {
  it("passes every event on as it came", async () => {
    const { hear } = memory();
    for (const size of [1, 4, 100]) expect(await hear(answer("c1"), size)).toEqual(answer("c1"));
  });

  it("gives a call its seal back and puts the sealed thoughts before what was said", async () => {
    const { hear, restored } = memory();
    await hear(answer("c1"));
    expect(restored(text("Looking."), call("c1"))).toEqual([
      thought("c1"),
      text("Looking."),
      sealed("c1"),
    ]);
  });

  it("keeps what was thought between calls between them", async () => {
    const { hear, restored } = memory();
    const renumbered = answer("c2")
      .slice(1)
      .map((event) => ("block" in event ? { ...event, block: event.block + 3 } : event));
    await hear([...answer("c1").slice(0, -1), ...renumbered]);
    expect(restored(call("c1"), call("c2"))).toEqual([
      thought("c1"),
      sealed("c1"),
      thought("c2"),
      sealed("c2"),
    ]);
  });

  it("keeps encrypted thoughts", async () => {
    const { hear, restored } = memory();
    await hear([
      { type: "start" },
      { type: "block-start", block: 0, kind: "reasoning" },
      { type: "signature", block: 0, redacted: "secret" },
      { type: "block-end", block: 0 },
      { type: "tool-call-start", block: 1, callId: "c1", name: "look" },
      { type: "block-end", block: 1 },
      { type: "finish", reason: "tool-calls" },
    ]);
    expect(restored(call("c1"))).toEqual([
      { type: "reasoning", text: "", signature: undefined, redacted: "secret" },
      call("c1"),
    ]);
  });

  it("puts the sealed thoughts in the place of what the client repeats of them", async () => {
    const { hear, restored } = memory();
    await hear(answer("c1"));
    expect(restored({ type: "reasoning", text: "Let me look." }, call("c1"))).toEqual([
      thought("c1"),
      sealed("c1"),
    ]);
  });

  it("adds no thoughts to a turn that has sealed ones, in the same message or the one before", async () => {
    const { hear, restored, restore } = memory();
    await hear(answer("c1"));
    const own = { type: "reasoning", text: "Mine.", signature: "own" } as const;
    expect(restored(own, call("c1"))).toEqual([own, sealed("c1")]);
    const { messages } = restore({
      ...request(),
      messages: [
        { role: "assistant", content: [own] },
        { role: "assistant", content: [call("c1")] },
        { role: "user", content: [{ type: "text", text: "Again." }] },
        { role: "assistant", content: [call("c1")] },
      ],
    });
    expect(messages[1]?.content).toEqual([sealed("c1")]);
    expect(messages[3]?.content).toEqual([thought("c1"), sealed("c1")]);
  });

  it("leaves the client's own seal on a call", async () => {
    const { hear, restored } = memory();
    await hear(answer("c1"));
    const own = { ...call("c1"), signature: "gemini.own" };
    expect(restored(own)).toEqual([thought("c1"), own]);
  });

  it("gives back the very request when it lacks nothing that is known", async () => {
    const { hear, restore } = memory();
    await hear(answer("c1"));
    const unknown = request(text("Hi"), call("c2"));
    expect(restore(unknown)).toBe(unknown);
    const whole = restore(request(call("c1")));
    expect(restore(whole)).toBe(whole);
  });

  it("keeps nothing of an answer that did not end with calls, or not at all", async () => {
    const { hear, restored } = memory();
    await hear(answer("c1", "stop"));
    await hear(answer("c2").slice(0, -1));
    expect(restored(call("c1"))).toEqual([call("c1")]);
    expect(restored(call("c2"))).toEqual([call("c2")]);
  });

  it("keeps nothing of thoughts and calls without a seal", async () => {
    const { hear, restored } = memory();
    const bare = answer("c1")
      .filter(({ type }) => type !== "signature")
      .map((event) =>
        event.type === "tool-call-start" ? { ...event, signature: undefined } : event,
      );
    await hear(bare);
    expect(restored(call("c1"))).toEqual([call("c1")]);
  });

  it("forgets a day after the last use", async () => {
    const { hear, restored, pass } = memory();
    await hear(answer("c1"));
    pass(23 * HOUR_MS);
    expect(restored(call("c1"))).toHaveLength(2);
    pass(23 * HOUR_MS);
    expect(restored(call("c1"))).toHaveLength(2);
    pass(24 * HOUR_MS);
    expect(restored(call("c1"))).toEqual([call("c1")]);
  });

  it("forgets the call that was not asked for the longest when there are too many", async () => {
    const { hear, restored } = memory();
    await hear(answer("first"));
    await hear(answer("second"));
    const isKnown = (callId: string) => restored(call(callId))?.length === 2;
    for (let number = 0; number < 19_998; number++) {
      await hear(answer(`c${number}`).slice(-4), 4);
    }
    expect(isKnown("first")).toBe(true);
    await hear(answer("one more"));
    expect([isKnown("first"), isKnown("second")]).toEqual([true, false]);
  });

  it("forgets when what it holds is too long", async () => {
    const { hear, restored } = memory();
    const long = (callId: string): ChatEvent[] =>
      answer(callId).map((event) =>
        event.type === "signature" ? { ...event, signature: "s".repeat(12 * 1024 * 1024) } : event,
      );
    for (const callId of ["c1", "c2", "c3"]) await hear(long(callId));
    const known = ["c1", "c2", "c3"].map((callId) => restored(call(callId))?.length === 2);
    expect(known).toEqual([false, true, true]);
  });

  it("ends the engine's events when nobody reads on", async () => {
    const { remember } = memory();
    let isClosed = false;
    const events: ChatEvents = {
      [Symbol.asyncIterator]: () => ({
        next: async () => ({ done: false, value: [{ type: "start" }] }),
        return: async () => {
          isClosed = true;
          return { done: true, value: undefined };
        },
      }),
    };
    for await (const _ of remember(events)) break;
    expect(isClosed).toBe(true);
  });
});

describe("the memory of seals on texts", () => {
  const question = (words: string): ChatMessage => ({
    role: "user",
    content: [{ type: "text", text: words }],
  });
  const said = (words: string, ...further: readonly AssistantPart[]): ChatMessage => ({
    role: "assistant",
    content: [text(words), ...further],
  });
  const asking = (...messages: readonly ChatMessage[]): ChatRequest => ({ ...request(), messages });
  const sealedAnswer: readonly ChatEvent[] = [
    { type: "start" },
    { type: "block-start", block: 0, kind: "text" },
    { type: "text-delta", block: 0, text: "It is " },
    { type: "text-delta", block: 0, text: "seven.\n" },
    { type: "block-end", block: 0, signature: "gemini.S" },
    { type: "finish", reason: "stop" },
  ];
  const SEALED = { ...text("It is seven."), signature: "gemini.S" };

  it("gives the text its seal back in the conversation that it ended, however it is cut", async () => {
    const { remember, restore } = memory();
    const asked = asking(question("Three and four?"));
    await passed(remember(inBatches(sealedAnswer, 1), asked));
    const again = asking(...asked.messages, said("It is seven."), question("Sure?"));
    expect(restore(again, true).messages[1]?.content).toEqual([SEALED]);
    expect(restore(again)).toBe(again);
  });

  it("shows it to no other conversation, though its last words are the same", async () => {
    const { remember, restore } = memory();
    const asked = asking(question("My secret is 4."), said("Noted."), question("Three and four?"));
    await passed(remember(inBatches(sealedAnswer, 9), asked));
    const other = asking(question("Three and four?"), said("It is seven."), question("Sure?"));
    expect(restore(other, true)).toBe(other);
  });

  it("finds it also behind calls and thoughts that clients leave out", async () => {
    const { remember, restore } = memory();
    const asked = asking(question("Look."), said("Looking.", call("c1")), {
      role: "tool",
      callId: "c1",
      content: [{ type: "text", text: "7" }],
    });
    await passed(remember(inBatches(sealedAnswer, 9), asked));
    const [first, second, ...rest] = asked.messages;
    const thinking = { ...second!, content: [thought("c1"), ...second!.content] } as ChatMessage;
    const again = asking(first!, thinking, ...rest, said("It is seven."), question("Sure?"));
    expect(restore(again, true).messages[3]?.content).toEqual([SEALED]);
  });
});
