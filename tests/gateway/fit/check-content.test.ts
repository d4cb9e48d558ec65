import { describe, expect, it } from "vitest";
import type { ChatMessage, UserPart } from "../../../src/core/chat/chat-request.ts";
import { ServiceError } from "../../../src/core/service-error.ts";
import { checkContent } from "../../../src/gateway/fit/check-content.ts";
import { chatRequest, MODEL } from "../../backends/support.ts";

const ABLE = { ...MODEL, id: "seer", vision: true, documents: true, audio: true };
const at = "messages[0].content[1]";
const PARTS = {
  vision: { type: "image", source: { kind: "url", url: "https://x.example/a.png" }, at },
  documents: {
    type: "document",
    source: { kind: "base64", mediaType: "application/pdf", data: "JVBERi0=" },
    at,
  },
  audio: { type: "audio", data: "UklGRg==", format: "wav", at },
} as const satisfies Record<string, UserPart>;

function asking(part: UserPart): ChatMessage {
  return { role: "user", content: [{ type: "text", text: "What is this?" }, part] };
}

function errorOf(messages: readonly ChatMessage[], model: typeof ABLE): ServiceError {
  try {
    checkContent(chatRequest({ messages }), model);
  } catch (thrown) {
    if (thrown instanceof ServiceError) return thrown;
  }
  throw new Error("it was taken");
}

describe("Content that a model cannot take", () => {
  it.each([
    ["vision", "is an image", "does not read images"],
    ["documents", "is a document", "does not read documents"],
    ["audio", "is sound", "does not listen to sound"],
  ] as const)("is refused by its place without %s, and taken with it", (trait, what, why) => {
    const messages = [asking(PARTS[trait])];
    const error = errorOf(messages, { ...ABLE, [trait]: false });
    expect([error.status, error.code, error.param]).toEqual([400, "invalid_value", at]);
    for (const words of [at, what, why, "'seer'"]) expect(error.message).toContain(words);
    checkContent(chatRequest({ messages }), ABLE);
    // Only this ability is asked for.
    const others = { ...ABLE, vision: false, documents: false, audio: false, [trait]: true };
    checkContent(chatRequest({ messages }), others);
  });

  it("is found in the result of a tool and in any turn", () => {
    const result: ChatMessage = { role: "tool", callId: "c", content: [PARTS.vision] };
    const call: ChatMessage = {
      role: "assistant",
      content: [{ type: "tool-call", callId: "c", name: "see", arguments: "{}" }],
    };
    const plain: ChatMessage = { role: "user", content: [{ type: "text", text: "and?" }] };
    expect(errorOf([plain, call, result, plain], { ...ABLE, vision: false }).param).toBe(at);
  });

  it("has a field to name even where its place is not known", () => {
    const { at: _at, ...image } = PARTS.vision;
    expect(errorOf([asking(image)], { ...ABLE, vision: false }).param).toBe("messages");
  });
});
