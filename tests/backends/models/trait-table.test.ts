import { describe, expect, it } from "vitest";
import { type Cloud, traitsOf } from "../../../src/backends/models/trait-table.ts";

describe("What the names of models tell", () => {
  it.each([
    [
      "openai",
      "gpt-4o-mini-2024-07-18",
      { thinking: false, vision: true, maxOutputTokens: 16_384 },
    ],
    ["openai", "gpt-4", { thinking: false, vision: false, contextLength: 8_192 }],
    ["openai", "ft:gpt-4o-mini-2024-07-18:org::id", { thinking: false, maxOutputTokens: 16_384 }],
    ["openai", "ft:gpt-4-0613:audio-pro::id", { thinking: false, contextLength: 8_192 }],
    ["openai", "gpt-4.1-nano", { thinking: false, maxOutputTokens: 32_768 }],
    ["openai", "gpt-4o-audio-preview", { audio: true, vision: false }],
    ["openai", "gpt-5.2-chat-latest", { thinking: false }],
    ["openai", "o3-mini", { thinking: true, vision: false }],
    ["openai", "o3-pro", { api: "responses", thinking: true }],
    ["openai", "gpt-5-codex-mini", { api: "responses" }],
    ["openai", "gpt-6-pro", { api: "responses" }],
    ["openai", "gpt-5-2025-08-07", { api: "chat", contextLength: 400_000 }],
    ["anthropic", "claude-3-opus-20240229", { thinking: false, maxOutputTokens: 4_096 }],
    ["anthropic", "claude-3-7-sonnet-20250219", { generation: "older", thinking: true }],
    ["anthropic", "claude-opus-4-20250514", { generation: "older", maxOutputTokens: 32_000 }],
    ["anthropic", "claude-opus-4-1-20250805", { generation: "older", maxOutputTokens: 32_000 }],
    ["anthropic", "claude-sonnet-4-20250514", { generation: "older", maxOutputTokens: 64_000 }],
    ["anthropic", "claude-haiku-4-5-20251001", { generation: "older", maxOutputTokens: 64_000 }],
    ["anthropic", "claude-opus-4-6", { generation: "newer", sampling: true, midSystem: false }],
    ["anthropic", "claude-opus-4-7", { sampling: false, midSystem: false }],
    ["anthropic", "claude-opus-4-8", { generation: "newer", sampling: false, midSystem: true }],
    ["anthropic", "claude-sonnet-4-5", { generation: "older", midSystem: false }],
    ["anthropic", "claude-haiku-5-5", { midSystem: true }],
    [
      "anthropic",
      "claude-sonnet-5-20260801",
      { sampling: false, efforts: expect.arrayContaining(["none"]) },
    ],
    [
      "anthropic",
      "claude-sonnet-5-5",
      { sampling: false, efforts: expect.not.arrayContaining(["none"]) },
    ],
    ["google", "gemini-1.5-pro", { thinking: false, maxOutputTokens: 8_192 }],
    ["google", "gemini-2.5-flash-lite", { generation: "older", audio: true }],
    ["google", "gemini-3.5-flash", { generation: "newer" }],
    ["compatible", "mistral-large-latest", { contextLength: undefined, tools: true, vision: true }],
  ] as const)("%s's %s", (cloud, name, traits) => {
    expect(traitsOf(cloud, name)).toMatchObject(traits);
  });

  it.each<[Cloud, object]>([
    ["openai", { thinking: true, efforts: ["low", "medium", "high", "xhigh", "max"], api: "chat" }],
    [
      "anthropic",
      { thinking: true, generation: "newer", sampling: false, maxOutputTokens: 128_000 },
    ],
    ["google", { thinking: true, generation: "newer", maxOutputTokens: 65_536 }],
    ["compatible", { thinking: true, tools: true, vision: true, documents: true, audio: true }],
  ])("a name of %s that nobody heard of is of the newest generation", (cloud, traits) => {
    expect(traitsOf(cloud, "unheard-of-1")).toMatchObject(traits);
  });
});
