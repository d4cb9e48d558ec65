import { describe, expect, it } from "vitest";
import { joinOpening, tellLaterSystem } from "../../../src/codecs/shared/system-messages.ts";
import type { ChatMessage } from "../../../src/core/chat/chat-request.ts";

const say = (role: "system" | "user", ...texts: readonly string[]): ChatMessage => ({
  role,
  content: texts.map((text) => ({ type: "text", text })),
});
const told = (messages: readonly ChatMessage[]) =>
  messages.map(({ role, content }) => [
    role,
    content.map((part) => ("text" in part ? part.text : part.type)),
  ]);

describe("System messages before all others", () => {
  it("become one", () => {
    const messages = [
      say("system", "You are Codex.", "Be brief."),
      say("system", "Answer in French."),
      say("user", "Hello"),
      say("system", "Be kind."),
    ];
    expect(told(joinOpening(messages))).toEqual([
      ["system", ["You are Codex.\nBe brief.\n\nAnswer in French."]],
      ["user", ["Hello"]],
      ["system", ["Be kind."]],
    ]);
  });

  it("stay as they are where there is one, or none", () => {
    for (const messages of [
      [say("system", "a", "b"), say("user", "c"), say("system", "d")],
      [say("user", "a"), say("system", "b"), say("system", "c")],
      [],
    ]) {
      expect(joinOpening(messages)).toBe(messages);
    }
  });
});

describe("Later system messages", () => {
  it("become user text in their place, and none where they say nothing", () => {
    const messages = [
      say("system", "a"),
      say("user", "b"),
      say("system", "c", "d"),
      say("system", " "),
      say("user", "e"),
    ];
    expect(told(tellLaterSystem(messages))).toEqual([
      ["system", ["a"]],
      ["user", ["b"]],
      ["user", ["<system>\nc\nd\n</system>"]],
      ["user", ["e"]],
    ]);
  });
});
