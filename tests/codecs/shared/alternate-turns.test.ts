import { expect, test } from "vitest";
import { alternateTurns } from "../../../src/codecs/shared/alternate-turns.ts";
import type { ChatMessage, ToolCallPart } from "../../../src/core/chat/chat-request.ts";

function call(callId: string): ToolCallPart {
  return { type: "tool-call", callId, name: "look", arguments: "{}" };
}

function result(callId: string, text: string): ChatMessage {
  return { role: "tool", callId, content: [{ type: "text", text }] };
}

function resultTexts(messages: readonly ChatMessage[]): (string | undefined)[] {
  const last = alternateTurns(messages, () => false).turns.at(-1);
  if (last?.role !== "user") return [];
  return last.results.map(({ message }) => {
    const [part] = message?.content ?? [];
    return part?.type === "text" ? part.text : undefined;
  });
}

test("results go to their calls, those of equal ids in their order", () => {
  const content = [call("a"), call("b"), call("a"), call("c")];
  const texts = resultTexts([
    { role: "assistant", content },
    result("b", "of b"),
    result("a", "first"),
    result("a", "second"),
    result("a", "of no call"),
  ]);
  expect(texts).toEqual(["first", "of b", "second", undefined]);
});

test("thousands of calls in one turn get their results in no time", () => {
  const ids = Array.from({ length: 48_000 }, (_, index) => `call_${index}`);
  const startedAt = performance.now();
  const texts = resultTexts([
    { role: "assistant", content: ids.map(call) },
    ...ids.map((id) => result(id, id)),
  ]);
  expect(performance.now() - startedAt).toBeLessThan(10_000);
  expect(texts).toEqual(ids);
});
