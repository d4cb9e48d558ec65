import { describe, expect, it } from "vitest";
import {
  findResponse,
  forgetResponse,
} from "../../../src/codecs/responses/server/remembered-response.ts";
import { responsesServer } from "../../../src/codecs/responses/server.ts";
import type { Caller } from "../../../src/core/callers/caller.ts";
import type { ChatEvent } from "../../../src/core/chat/chat-event.ts";
import { foldEvents } from "../../../src/core/chat/fold-events.ts";
import { createAnswerMemory } from "../../../src/gateway/answer-memory.ts";

const HOUR_MS = 60 * 60 * 1000;

const key = (keyId: string) => ({ kind: "key", keyId, ownerId: "user-1" }) as Caller;
const session = (ownerId: string) =>
  ({ kind: "session", sessionId: `of ${ownerId}`, ownerId }) as Caller;
const ANN = key("ann");

/** A thought with its seal, a word and a call. */
function said(text: string): ChatEvent[] {
  return [
    { type: "start" },
    { type: "block-start", block: 0, kind: "reasoning" },
    { type: "reasoning-delta", block: 0, text: "Hm" },
    { type: "signature", block: 0, signature: "seal" },
    { type: "block-end", block: 0 },
    { type: "block-start", block: 1, kind: "text" },
    { type: "text-delta", block: 1, text },
    { type: "block-end", block: 1 },
    { type: "tool-call-start", block: 2, callId: "c1", name: "look" },
    { type: "tool-call-delta", block: 2, arguments: '{"at": 1}' },
    { type: "block-end", block: 2 },
    { type: "finish", reason: "tool-calls" },
  ];
}

const user = (text: string) => ({ role: "user", content: [{ type: "text", text }] });
const assistant = (text: string) => ({
  role: "assistant",
  content: [
    { type: "reasoning", text: "Hm", signature: "seal" },
    { type: "text", text },
    { type: "tool-call", callId: "c1", name: "look", arguments: '{"at": 1}' },
  ],
});
const reference = (id: string) => ({ type: "item_reference", id });
const codeOf = (code: string) => expect.objectContaining({ code });

function stage({ maxBytes = 1024 * 1024, maxBytesPerCall = 1024 * 1024 } = {}) {
  let now = 0;
  const memory = createAnswerMemory({ now: () => now }, { maxBytes, maxBytesPerCall });
  const parse = (body: object, caller = ANN) =>
    responsesServer.parse({ input: "Hi", ...body }, "", memory.of(caller));
  return {
    memory,
    parse,
    messages: (body: object, caller = ANN) => parse(body, caller).request.messages,
    /** Asks and is answered; how is up to the caller. */
    async answer(requestId: string, body: object, how: Answered = {}) {
      const { events = said("Hello"), isStreamed = false, caller = ANN } = how;
      const { form } = parse(body, caller);
      const context = { requestId, model: "m", created: 1 };
      if (!isStreamed) {
        const whole = await foldEvents(inBatches(events));
        return JSON.parse(responsesServer.encodeAnswer(whole, context, form));
      }
      const encoder = responsesServer.streamEncoder(context, form);
      return events.map((event) => encoder.encode([event])).join("");
    },
    pass: (ms: number) => {
      now += ms;
    },
  };
}

interface Answered {
  readonly events?: readonly ChatEvent[];
  readonly isStreamed?: boolean;
  readonly caller?: Caller;
}

async function* inBatches(events: readonly ChatEvent[]) {
  yield events;
}

describe("a remembered answer", () => {
  it.each([false, true])(
    "is continued with all that was said, streamed: %s",
    async (isStreamed) => {
      const { answer, messages } = stage();
      await answer("req_1", { input: "One", instructions: "Be brief." }, { isStreamed });
      const output = { type: "function_call_output", call_id: "c1", output: "There." };
      const second = { input: [output], previous_response_id: "resp_req_1" };
      await answer("req_2", second, { isStreamed, events: said("Found") });
      const third = {
        previous_response_id: "resp_req_2",
        input: "Three",
        instructions: "Be long.",
      };
      expect(messages(third)).toEqual([
        { role: "system", content: [{ type: "text", text: "Be long." }] },
        user("One"),
        assistant("Hello"),
        { role: "tool", callId: "c1", content: [{ type: "text", text: "There." }] },
        assistant("Found"),
        user("Three"),
      ]);
    },
  );

  it("stands for itself by the ids of its items, in the order of the request", async () => {
    const { answer, messages } = stage();
    await answer("req_1", { input: "One" });
    const [thought, message, call] = ["rs_req_1_0", "msg_req_1_1", "fc_req_1_2"];
    const input = [
      { role: "user", content: "One" },
      reference(thought as string),
      { id: message },
      { type: null, id: call },
      { type: "function_call_output", call_id: "c1", output: "There." },
    ];
    expect(messages({ input })).toEqual([
      user("One"),
      assistant("Hello"),
      { role: "tool", callId: "c1", content: [{ type: "text", text: "There." }] },
    ]);
  });

  it("is found through references in a conversation that is continued", async () => {
    const { answer, messages } = stage();
    await answer("req_1", { input: "One" });
    const referring = [{ role: "user", content: "One" }, reference("msg_req_1_1")];
    await answer("req_2", { input: referring }, { events: said("Two") });
    const text = { type: "text", text: "Hello" };
    expect(messages({ previous_response_id: "resp_req_2" })).toEqual([
      user("One"),
      { role: "assistant", content: [text, ...assistant("Two").content] },
      user("Hi"),
    ]);
  });

  it("is in the conversation once, however often it is referred to", async () => {
    const { answer, messages } = stage();
    await answer("req_1", { input: "One" });
    const input = [reference("msg_req_1_1"), reference("msg_req_1_1")];
    expect(messages({ previous_response_id: "resp_req_1", input })).toHaveLength(2);
    expect(messages({ input })).toHaveLength(1);
  });

  it("says that it is stored, and which response it continues", async () => {
    const { answer } = stage();
    expect(await answer("req_1", {})).toMatchObject({ store: true, previous_response_id: null });
    expect(await answer("req_2", { previous_response_id: "resp_req_1" })).toMatchObject({
      store: true,
      previous_response_id: "resp_req_1",
    });
  });

  it("is remembered when it was cut by its limit", async () => {
    const { answer, messages } = stage();
    const events = [...said("Hello").slice(0, -1), { type: "finish", reason: "length" } as const];
    await answer("req_1", {}, { events });
    expect(messages({ previous_response_id: "resp_req_1" })).toHaveLength(3);
  });
});

describe("what is not remembered", () => {
  const unknown = { previous_response_id: "resp_req_1" };
  const items = { input: [reference("msg_req_1_1")] };

  it("is refused with the code and words of OpenAI", () => {
    const { parse } = stage();
    expect(() => parse(unknown)).toThrow(
      expect.objectContaining({
        code: "previous_response_not_found",
        status: 400,
        param: "previous_response_id",
        message: expect.stringMatching(
          /^Previous response with id 'resp_req_1' not found\. .*'input'/,
        ),
      }),
    );
    expect(() => parse(items)).toThrow(
      expect.objectContaining({
        code: "item_not_found",
        status: 400,
        param: "input",
        message: expect.stringMatching(/^Item with id 'msg_req_1_1' not found\. /),
      }),
    );
    for (const id of ["x", "msg_1", "", 5, "resp_req_1"]) {
      expect(() => parse({ input: [reference(id as string)] })).toThrow(codeOf("item_not_found"));
    }
    expect(() => responsesServer.parse({ input: "Hi", ...unknown }, "")).toThrow(
      codeOf("previous_response_not_found"),
    );
  });

  it.each([
    ["an answer to a request with store false", { store: false }, {}],
    ["an answer that failed", {}, { events: [...said("x").slice(0, 3)] }],
  ])("is %s", async (_, body, how: Answered) => {
    const { answer, parse } = stage();
    await answer("req_1", body, { ...how, isStreamed: true });
    expect(() => parse(unknown)).toThrow(codeOf("previous_response_not_found"));
    expect(() => parse(items)).toThrow(codeOf("item_not_found"));
  });

  it.each([
    ["another key", ANN, key("bob")],
    ["a session of the key's owner", ANN, session("user-1")],
    ["another user's session", session("user-1"), session("user-2")],
    ["a key of the session's user", session("user-1"), ANN],
  ])("is what %s was answered", async (_, caller, other) => {
    const { answer, parse } = stage();
    await answer("req_1", {}, { caller });
    expect(() => parse(unknown, other)).toThrow(codeOf("previous_response_not_found"));
    expect(() => parse(items, other)).toThrow(codeOf("item_not_found"));
    expect(() => parse(unknown, caller)).not.toThrow();
  });

  it("is not what the same user was answered in another session", async () => {
    const { answer, parse } = stage();
    await answer("req_1", {}, { caller: session("user-1") });
    const other = { ...session("user-1"), sessionId: "another" } as Caller;
    expect(() => parse(unknown, other)).not.toThrow();
  });

  it("is what was not used for an hour, the conversation's earlier turns with its last", async () => {
    const { answer, parse, pass } = stage();
    await answer("req_1", {});
    pass(HOUR_MS - 1);
    await answer("req_2", unknown);
    pass(HOUR_MS - 1);
    expect(() => parse({ previous_response_id: "resp_req_2" })).not.toThrow();
    pass(HOUR_MS - 1);
    expect(() => parse({ previous_response_id: "resp_req_2" })).not.toThrow();
    expect(() => parse(unknown, key("bob"))).toThrow();
    pass(HOUR_MS);
    expect(() => parse(unknown)).toThrow(codeOf("previous_response_not_found"));
  });

  it("is the oldest when there is no room, over all keys", async () => {
    const { answer, parse } = stage({ maxBytes: 15_000 });
    const input = "x".repeat(4_000);
    const isKnown = (number: number) => {
      try {
        parse({ previous_response_id: `resp_req_${number}` }, key(`key-${number}`));
        return true;
      } catch {
        return false;
      }
    };
    for (let number = 1; number <= 4; number++) {
      await answer(`req_${number}`, { input }, { caller: key(`key-${number}`) });
    }
    expect([1, 2, 3, 4].map(isKnown)).toEqual([false, false, true, true]);
    await answer("req_5", { input: "x".repeat(20_000) });
    expect([3, 4].map(isKnown)).toEqual([true, true]);
  });

  it("is a conversation of which any turn is forgotten", async () => {
    const { answer, parse } = stage({ maxBytes: 20_000 });
    await answer("req_1", { input: "x".repeat(4_000) });
    await answer("req_2", { ...unknown, input: "x".repeat(4_000) });
    for (const number of [3, 4]) await answer(`req_${number}`, { input: "x".repeat(4_000) });
    expect(() => parse({ previous_response_id: "resp_req_2" })).toThrow(
      codeOf("previous_response_not_found"),
    );
  });

  it("is refused when a call refers to more than a body may bring", async () => {
    const { answer, parse } = stage({ maxBytesPerCall: 10_000 });
    for (const number of [1, 2, 3]) await answer(`req_${number}`, { input: "x".repeat(3_300) });
    const refer = (...numbers: number[]) =>
      parse({ input: numbers.map((number) => reference(`msg_req_${number}_1`)) });
    expect(() => refer(1)).not.toThrow();
    expect(() => refer(1, 2, 3)).toThrow(codeOf("request_too_large"));
  });

  it("counts only what is conversation, and is read and deleted whatever its length", async () => {
    const { answer, memory, parse } = stage({ maxBytesPerCall: 10_000 });
    const instructions = "x".repeat(6_000);
    await answer("req_1", { input: "One", instructions });
    await answer("req_2", { input: "Two", instructions, previous_response_id: "resp_req_1" });
    expect(() => parse({ previous_response_id: "resp_req_2" })).not.toThrow();
    await answer("req_3", { input: "x".repeat(20_000), instructions: "y".repeat(20_000) });
    expect(() => parse({ previous_response_id: "resp_req_3" })).toThrow(
      codeOf("request_too_large"),
    );
    const read = () => findResponse(memory.of(ANN), "resp_req_3");
    expect(JSON.parse(read() ?? "")).toMatchObject({ id: "resp_req_3", object: "response" });
    expect(forgetResponse(memory.of(key("bob")), "resp_req_3")).toBe(false);
    expect(forgetResponse(memory.of(ANN), "resp_req_3")).toBe(true);
    expect(read()).toBeUndefined();
  });
});
