import { describe, expect, it } from "vitest";
import type { TracedUsage } from "../../../src/operations/tracing/tracing.ts";
import {
  usageAttributes,
  usageSpanName,
} from "../../../src/operations/tracing/usage-attributes.ts";

const call: TracedUsage = {
  keyId: "key_1",
  channel: "mcp",
  model: "",
  toolName: "find_files",
  outcome: "ok",
  startedAt: 0,
  latencyMs: 5,
  firstTokenMs: 5,
  inputTokens: 0,
  outputTokens: 0,
  cachedTokens: 0,
  reasoningTokens: 0,
};

describe("The span of a call of a tool", () => {
  it("is named by the tool, and has neither a model nor tokens", () => {
    expect(usageSpanName(call)).toBe("execute_tool find_files");
    const attributes = usageAttributes(call, {});
    expect(attributes).toMatchObject({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "find_files",
      "gateway.channel": "mcp",
    });
    expect(Object.keys(attributes).join(" ")).not.toMatch(/model|tokens/);
  });
});
