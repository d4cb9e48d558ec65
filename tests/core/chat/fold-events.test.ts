import { describe, expect, it } from "vitest";
import type { ChatEvent } from "../../../src/core/chat/chat-event.ts";
import { foldEvents } from "../../../src/core/chat/fold-events.ts";
import { ServiceError } from "../../../src/core/service-error.ts";

async function* inBatches(events: readonly ChatEvent[], size: number) {
  for (let at = 0; at < events.length; at += size) yield events.slice(at, at + size);
}

const ANSWER: readonly ChatEvent[] = [
  { type: "start", extra: { system_fingerprint: "fp" } },
  { type: "block-start", block: 0, kind: "reasoning" },
  { type: "reasoning-delta", block: 0, text: "Hm" },
  { type: "reasoning-delta", block: 0, text: "…" },
  { type: "signature", block: 0, signature: "seal" },
  { type: "block-end", block: 0 },
  { type: "block-start", block: 1, kind: "text" },
  { type: "text-delta", block: 1, text: "Let ", extra: { token_ids: [1] } },
  { type: "text-delta", block: 1, text: "me", extra: { token_ids: [2] } },
  { type: "block-end", block: 1 },
  { type: "tool-run", run: { id: "run_1", name: "h", status: "running" } },
  { type: "tool-run", run: { id: "run_1", name: "h", status: "ok", durationMs: 5 } },
  { type: "source", source: { id: "s" } },
  { type: "tool-call-start", block: 2, callId: "a", name: "f" },
  { type: "tool-call-start", block: 3, callId: "b", name: "g" },
  { type: "tool-call-delta", block: 3, arguments: "{" },
  { type: "tool-call-delta", block: 2, arguments: '{"x":' },
  { type: "tool-call-delta", block: 3, arguments: "}" },
  { type: "tool-call-delta", block: 2, arguments: "1}" },
  { type: "block-end", block: 2 },
  { type: "block-end", block: 3 },
  {
    type: "finish",
    reason: "tool-calls",
    usage: { inputTokens: 1, outputTokens: 2 },
    extra: { stop_reason: 5 },
  },
];

describe("a whole answer", () => {
  it("is what its events add up to, however they are batched", async () => {
    for (const size of [1, 3, ANSWER.length]) {
      expect(await foldEvents(inBatches(ANSWER, size))).toEqual({
        extra: { system_fingerprint: "fp" },
        sources: [{ id: "s" }],
        toolRuns: [{ id: "run_1", name: "h", status: "ok", durationMs: 5 }],
        search: undefined,
        blocks: [
          { kind: "reasoning", text: "Hm…", signature: "seal", redacted: undefined, extras: [] },
          { kind: "text", text: "Let me", extras: [{ token_ids: [1] }, { token_ids: [2] }] },
          { kind: "tool-call", callId: "a", name: "f", arguments: '{"x":1}' },
          { kind: "tool-call", callId: "b", name: "g", arguments: "{}" },
        ],
        finish: {
          reason: "tool-calls",
          stopSequence: undefined,
          usage: { inputTokens: 1, outputTokens: 2 },
          extra: { stop_reason: 5 },
        },
      });
    }
  });

  it("is never made of events that end with an error, or do not end", async () => {
    const error = new ServiceError("upstream_timeout", "Too slow.");
    const failed = [...ANSWER.slice(0, 5), { type: "error", error } as const];
    await expect(foldEvents(inBatches(failed, 4))).rejects.toBe(error);
    const cut = foldEvents(inBatches(ANSWER.slice(0, -1), 4));
    await expect(cut).rejects.toMatchObject({ code: "upstream_error" });
  });
});
