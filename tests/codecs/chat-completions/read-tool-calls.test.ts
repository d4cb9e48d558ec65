import { describe, expect, it } from "vitest";
import { createStreamReader } from "../../../src/codecs/chat-completions/client/client-stream.ts";
import {
  addUp,
  chunk,
  createRandom,
  FINISH,
  MAX_EVENT_BYTES,
  readChunks,
  readPieces,
  toFrame,
} from "./read-streams.ts";

const ARGUMENTS =
  '{"path": "a\\u00fc.txt",  "n":1e2, "nested":{"__proto__":[1,2,"\\\\"]}, "t":"日本 👍"}';

const calls = (...fragments: readonly object[]) => chunk({ tool_calls: fragments });
const fragment = (
  index: number | undefined,
  text: unknown,
  named?: { id?: string; name?: string },
) => ({
  ...(index !== undefined && { index }),
  ...(named?.id !== undefined && { id: named.id, type: "function" }),
  function: { ...(named?.name !== undefined && { name: named.name }), arguments: text },
});

describe("arguments of a tool call", () => {
  it("come through byte for byte in 1 to 64 fragments", () => {
    for (let count = 1; count <= 64; count++) {
      const pieces = split(ARGUMENTS, count);
      const chunks = pieces.map((piece) => calls(fragment(0, piece)));
      const first = calls(fragment(0, "", { id: "call_1", name: "f" }));
      const { calls: read } = addUp(readChunks(first, ...chunks, FINISH));
      expect(read).toEqual([{ id: "call_1", name: "f", arguments: ARGUMENTS }]);
    }
  });

  it("of three calls side by side do not mix", () => {
    for (let seed = 0; seed < 100; seed++) {
      const random = createRandom(seed);
      const texts = [ARGUMENTS, '{"b":2}', "{}"];
      const rest = texts.map((text) => split(text, 1 + random(8)));
      const chunks = texts.map((_, index) =>
        calls(fragment(index, "", { id: `c${index}`, name: `f${index}` })),
      );
      while (rest.some((pieces) => pieces.length > 0)) {
        const index = random(3);
        const piece = rest[index]!.shift();
        if (piece !== undefined) chunks.push(calls(fragment(index, piece)));
      }
      const { calls: read, end } = addUp(readChunks(...chunks, FINISH));
      expect(read.map((call) => call.arguments)).toEqual(texts);
      expect(end).toBe("tool-calls");
    }
  });

  it.each([
    ["null", null, ""],
    ["absent", undefined, ""],
    ["an object", { a: 1 }, '{"a":1}'],
  ])("may be %s", (_what, given, expected) => {
    const events = readChunks(calls(fragment(0, given, { id: "c", name: "f" })), FINISH);
    expect(addUp(events).calls).toEqual([{ id: "c", name: "f", arguments: expected }]);
  });
});

describe("text amid the arguments of a call", () => {
  const begun = calls(fragment(0, '{"city":', { id: "c", name: "f" }));
  const mixed = (content: string, ...fragments: readonly object[]) =>
    chunk({ content, tool_calls: fragments });
  const whole = { id: "c", name: "f", arguments: '{"city":"Oslo"}' };

  it("comes after the rest of the call where one chunk has both", () => {
    const events = readChunks(begun, mixed("Now the next", fragment(0, '"Oslo"}')), FINISH);
    expect(addUp(events)).toMatchObject({ text: "Now the next", calls: [whole] });
    const kinds = events.map(({ type }) => type);
    expect(kinds.indexOf("text-delta")).toBeGreaterThan(kinds.lastIndexOf("tool-call-delta"));
  });

  it.each(["content", "reasoning", "reasoning_content", "refusal"])("is kept: %s", (field) => {
    const events = readChunks(
      begun,
      chunk({ [field]: "Now " }),
      calls(fragment(0, '"Oslo"')),
      chunk({ [field]: "the next" }),
      calls(fragment(0, "}")),
      chunk({ [field]: "!" }),
      FINISH,
    );
    const { text, reasoning, refusal, calls: read, end } = addUp(events);
    expect([text + reasoning + refusal, read, end]).toEqual([
      "Now the next!",
      [whole],
      "tool-calls",
    ]);
  });

  it("is told at once when the arguments are whole, and ends the call", () => {
    const events = readChunks(
      calls(fragment(0, '{"city":"Oslo"}', { id: "c", name: "f" })),
      chunk({ content: "a" }),
      calls(fragment(0, " \n")),
      chunk({ content: "b" }),
      FINISH,
    );
    expect(addUp(events)).toMatchObject({ text: "ab", calls: [whole], end: "tool-calls" });
  });

  it.each([
    ["none", "", "Now"],
    ["no JSON, but brackets that match", "{'a': [1]}", "Now"],
  ])("is told at once after arguments that are %s", (_what, given, text) => {
    const reader = createStreamReader(MAX_EVENT_BYTES);
    const call = toFrame(calls(fragment(0, given, { id: "c", name: "f" })));
    reader.read(Buffer.from(call));
    const events = [...reader.read(Buffer.from(toFrame(chunk({ content: text }))))];
    expect(events.map(({ type }) => type)).toContain("text-delta");
  });

  it("that is only white space does not end a call without arguments so far", () => {
    const events = readChunks(
      calls(fragment(0, "", { id: "c", name: "f" })),
      chunk({ content: "\n" }),
      calls(fragment(0, whole.arguments)),
      FINISH,
    );
    expect(addUp(events)).toMatchObject({ text: "\n", calls: [whole] });
  });

  it("costs no more than it has, however long the arguments go on", () => {
    // Read anew with each fragment, these arguments take minutes.
    const pieces = Array.from({ length: 60_000 }, () => calls(fragment(0, "wörd\\n ")));
    const frames = [begun, calls(fragment(0, '"')), chunk({ content: "\n" }), ...pieces];
    const end = [calls(fragment(0, '"}')), FINISH, "[DONE]"];
    const read = addUp(readPieces([...frames, ...end].map((one) => Buffer.from(toFrame(one)))));
    expect([read.text, read.calls[0]?.arguments.length]).toEqual(["\n", 8 + 1 + 60_000 * 7 + 2]);
  });

  it("is not held for ever: what is long ends the call", () => {
    const long = Array.from({ length: 100 }, () => chunk({ content: "x".repeat(100) }));
    const reader = createStreamReader(MAX_EVENT_BYTES);
    const text = [begun, ...long].map(toFrame).join("");
    const events = [...reader.read(Buffer.from(text))];
    expect(events.filter(({ type }) => type === "text-delta").length).toBeGreaterThan(50);
  });

  it("is told at the end when the arguments never are", () => {
    const events = readChunks(
      begun,
      chunk({ content: "Now" }),
      calls(fragment(1, "{}", { id: "d", name: "g" })),
      chunk({}, { finish_reason: "length" }),
    );
    const { calls: read, text, end } = addUp(events);
    expect(read.map((call) => call.arguments)).toEqual(['{"city":', "{}"]);
    expect([text, end]).toEqual(["Now", "length"]);
  });
});

describe("tool calls of vendors", () => {
  it("that are announced but not there are no calls", () => {
    const announced = chunk({ tool_calls: [] }, { finish_reason: "tool_calls" });
    const { calls: read, end } = addUp(readChunks(chunk({ content: "Hi" }), announced));
    expect([read, end]).toEqual([[], "stop"]);
  });

  it("without index are told apart by id, or go on with the last", () => {
    const events = readChunks(
      calls(fragment(undefined, '{"a":', { id: "x", name: "f" })),
      calls(fragment(undefined, "1}")),
      calls(fragment(undefined, "{}", { id: "y", name: "g" })),
      FINISH,
    );
    expect(addUp(events).calls).toEqual([
      { id: "x", name: "f", arguments: '{"a":1}' },
      { id: "y", name: "g", arguments: "{}" },
    ]);
  });

  it("without index go by their place when several come in one chunk", () => {
    const events = readChunks(
      calls(
        fragment(undefined, "[", { id: "x", name: "f" }),
        fragment(undefined, "{", { id: "y", name: "g" }),
      ),
      calls(fragment(undefined, "]"), fragment(undefined, "}")),
      FINISH,
    );
    expect(addUp(events).calls.map((call) => call.arguments)).toEqual(["[]", "{}"]);
  });

  it("may repeat id and name in every fragment", () => {
    const named = { id: "x", name: "f" };
    const events = readChunks(
      calls(fragment(0, '{"a"', named)),
      calls(fragment(0, ":1}", named)),
      FINISH,
    );
    expect(addUp(events).calls).toEqual([{ id: "x", name: "f", arguments: '{"a":1}' }]);
  });

  it.each([
    [0, ["", '{"a"', ':{"b":1', "}}"]],
    [undefined, ['{"a"', ':{"b":1', "}}"]],
  ])("may repeat the name alone in every fragment, at index %j", (index, pieces) => {
    const chunks = [...pieces, "[]"].map((piece) => calls(fragment(index, piece, { name: "f" })));
    const { calls: read } = addUp(readChunks(...chunks, FINISH));
    expect(read.map((call) => call.arguments)).toEqual(['{"a":{"b":1}}', "[]"]);
  });

  it("may have another id in every fragment, and a name in the first", () => {
    const events = readChunks(
      calls(fragment(0, "", { id: "x", name: "f" })),
      ...['{"a"', ":1", "}", ""].map((piece, at) => calls(fragment(0, piece, { id: `x${at}` }))),
      calls(fragment(0, "{}", { id: "y", name: "g" })),
      FINISH,
    );
    expect(addUp(events)).toMatchObject({
      calls: [
        { id: "x", name: "f", arguments: '{"a":1}' },
        { id: "y", name: "g", arguments: "{}" },
      ],
      end: "tool-calls",
    });
  });

  it("may all have the index 0, whole, with ids or without", () => {
    for (const ids of [
      ["x", "y"],
      ["", ""],
      [undefined, undefined],
    ]) {
      const [one, two] = ids.map((id) => (id === undefined ? {} : { id }));
      const events = readChunks(
        calls(fragment(0, "{}", { ...one, name: "f" })),
        calls(fragment(0, '{"a":1}', { ...two, name: "f" })),
        FINISH,
      );
      const { calls: read } = addUp(events);
      expect(read.map((call) => call.arguments)).toEqual(["{}", '{"a":1}']);
      expect(new Set(read.map(({ id }) => id)).size).toBe(2);
    }
  });

  it("get an id of ours where they have none, another in every answer", () => {
    const idIn = (answer: string) => {
      const body = { ...calls(fragment(0, "{}", { name: "f" })), id: answer };
      return addUp(readChunks(body, FINISH)).calls[0]?.id;
    };
    expect(idIn("chatcmpl-1/ä")).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect(idIn("chatcmpl-1")).not.toBe(idIn("chatcmpl-2"));
    expect(idIn("x".repeat(500))).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
  });

  it("may be named after their first fragment", () => {
    const events = readChunks(
      calls(fragment(0, '{"a"', { id: "x" })),
      calls(fragment(0, ":1}", { name: "f" })),
      FINISH,
    );
    expect(addUp(events).calls).toEqual([{ id: "x", name: "f", arguments: '{"a":1}' }]);
  });

  it("without a name are an error, and nothing when they are empty", () => {
    expect(addUp(readChunks(calls(fragment(0, "{}", { id: "x" })), FINISH)).end).toBe(
      "upstream_error",
    );
    const empty = readChunks(
      chunk({ content: "a", tool_calls: [{}, null, fragment(0, null)] }),
      FINISH,
    );
    expect(addUp(empty)).toMatchObject({ text: "a", calls: [], end: "stop" });
  });

  it("come with the finish reason, after text, and before it", () => {
    const whole = { tool_calls: [fragment(undefined, "{}", { id: "x", name: "f" })] };
    const events = readChunks(
      chunk({ content: "a" }),
      chunk({ content: null, ...whole }),
      chunk({ content: "b" }),
      chunk({}, { finish_reason: "tool_calls" }),
    );
    expect(addUp(events)).toMatchObject({ text: "ab", calls: [{ id: "x" }], end: "tool-calls" });
  });

  it("that go on although they were whole are an error, never wrong arguments", () => {
    const events = readChunks(
      calls(fragment(0, '{"a":1}', { id: "x", name: "f" })),
      chunk({ content: "b" }),
      calls(fragment(0, '{"a":2}')),
      FINISH,
    );
    expect(addUp(events).end).toBe("upstream_error");
  });
});

/** The text in this many pieces, some of them empty when it is too short. */
function split(text: string, count: number): string[] {
  const size = Math.ceil(text.length / count);
  return Array.from({ length: count }, (_, index) => text.slice(index * size, (index + 1) * size));
}
