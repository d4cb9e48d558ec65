import { expect, it } from "vitest";
import { routeKey } from "../../../src/backends/replicas/route-key.ts";
import type { ChatMessage, ChatRequest, UserPart } from "../../../src/core/chat/chat-request.ts";
import { chatRequest } from "../support.ts";

const say = (role: "system" | "user" | "assistant", text: string): ChatMessage => ({
  role,
  content: [{ type: "text", text }],
});

function keyOf(messages: readonly ChatMessage[], fields: Partial<ChatRequest> = {}): number {
  return routeKey(chatRequest({ messages, ...fields }));
}

const OPENING = [say("system", "You are kind."), say("user", "What is a tree?")];
const FURTHER: readonly ChatMessage[] = [
  say("assistant", "A plant."),
  say("user", "And a bush?"),
  say("system", "Be brief from now on."),
  { role: "tool", callId: "call_1", content: [{ type: "text", text: "a result" }] },
];

it("is the same for all turns of a conversation", () => {
  for (let turns = 0; turns <= FURTHER.length; turns += 1) {
    expect(keyOf([...OPENING, ...FURTHER.slice(0, turns)])).toBe(keyOf(OPENING));
  }
});

it("does not depend on anything beside the beginning: not on parameters, effort or streaming", () => {
  const fields = { stream: false, effort: "high" as const, parameters: { temperature: 1 } };
  expect(keyOf(OPENING, fields)).toBe(keyOf(OPENING));
});

it("differs with the system's text, the first question and the tools", () => {
  const tool = (name: string) => ({ name, description: "any" });
  const keys = [
    keyOf(OPENING),
    keyOf([say("system", "You are curt."), say("user", "What is a tree?")]),
    keyOf([say("system", "You are kind."), say("user", "What is a bush?")]),
    keyOf([say("user", "What is a tree?")]),
    keyOf(OPENING, { tools: [tool("read")] }),
    keyOf(OPENING, { tools: [tool("write")] }),
  ];
  expect(new Set(keys).size).toBe(keys.length);
});

it("sees a difference at the beginning and at the end of a long text", () => {
  const filler = "the same for everybody ".repeat(10_000);
  const texts = [`a ${filler}`, `b ${filler}`, `a ${filler} at home`, `a ${filler} at work`];
  expect(new Set(texts.map((text) => keyOf([say("user", text)]))).size).toBe(texts.length);
});

it("tells apart first questions that are pictures alone", () => {
  const picture = (source: Extract<UserPart, { type: "image" }>["source"]): ChatMessage => ({
    role: "user",
    content: [{ type: "image", source }],
  });
  const keys = [
    keyOf([picture({ kind: "url", url: "https://example.com/a.png" })]),
    keyOf([picture({ kind: "url", url: "https://example.com/b.png" })]),
    keyOf([picture({ kind: "base64", mediaType: "image/png", data: "iVBORw0KGgoA" })]),
    keyOf([picture({ kind: "base64", mediaType: "image/png", data: "iVBORw0KGgoB" })]),
  ];
  expect(new Set(keys).size).toBe(keys.length);
});
