import { beforeAll, describe, expect, it } from "vitest";
import { readMessageStream } from "../../support/clients/message-stream.ts";
import { readSharedFixtures } from "../../support/shared-fixtures.ts";
import { postMessages } from "../ask-messages.ts";
import type { Body, EngineGateway } from "../engine-gateway.ts";

interface Recording {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;
}

/** The second turn of a coding agent, with everything that such agents were seen to send. */
const ownRecording: Recording = {
  path: "/v1/messages?beta=true",
  headers: { "anthropic-version": "2023-06-01", "anthropic-beta": "claude-code-20250219,x-1" },
  body: {
    model: "some-model",
    max_tokens: 32_000,
    system: [
      { type: "text", text: "x-anthropic-billing-header: cc_version=2;" },
      { type: "text", text: "You are an agent.", cache_control: { type: "ephemeral" } },
    ],
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "<system-reminder>Be brief.</system-reminder>" },
          { type: "text", text: "Run echo hi" },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "", signature: "gateway.x" },
          { type: "text", text: "I run it." },
          {
            type: "tool_use",
            id: "toolu_1",
            name: "bash",
            input: { command: "echo hi" },
            cache_control: { type: "ephemeral" },
          },
        ],
      },
      {
        role: "user",
        content: [
          {
            type: "tool_result",
            tool_use_id: "toolu_1",
            content: "hi\n",
            cache_control: { type: "ephemeral" },
          },
        ],
      },
      { role: "system", content: "# Environment", output_config: { effort: "medium" } },
    ],
    tools: [
      {
        name: "bash",
        description: "Runs a command.",
        input_schema: {
          $schema: "https://json-schema.org/draft/2020-12/schema",
          type: "object",
          properties: { command: { type: "string" } },
        },
        defer_loading: true,
        eager_input_streaming: true,
      },
      { type: "web_search_20260318", name: "web_search" },
    ],
    thinking: { type: "adaptive", display: "omitted" },
    output_config: { effort: "high" },
    context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
    metadata: { user_id: '{"device_id":"0"}' },
    stream: true,
  },
};

const recordings: readonly (readonly [string, Recording])[] = [
  ["an agent of our own writing", ownRecording],
  ...readSharedFixtures(["clients"], ".json").map(
    ({ name, bytes }) => [name, JSON.parse(new TextDecoder().decode(bytes)) as Recording] as const,
  ),
].filter((entry): entry is [string, Recording] => {
  const [, { path }] = entry as [string, Recording];
  return path.startsWith("/v1/messages");
});

/** What coding agents were recorded to send is answered with a complete stream. */
export function recordedMessageCases(opened: () => EngineGateway): void {
  describe("2 clients of the messages format", () => {
    let world: EngineGateway;
    beforeAll(() => {
      world = opened();
    });

    it.each(recordings)("answers the request of %s", async (_, { path, headers, body }) => {
      const kept = Object.entries(headers).filter(
        ([name]) => !["authorization", "x-api-key", "accept-encoding"].includes(name),
      );
      const response = await postMessages(world, body, {
        path,
        headers: Object.fromEntries(kept),
      });
      expect(response.status).toBe(200);
      if (path.includes("count_tokens")) {
        const { input_tokens } = (await response.json()) as { input_tokens: number };
        expect(input_tokens).toBeGreaterThan(0);
        return;
      }
      const { start, blocks, end } = readMessageStream(await response.text());
      expect(start["model"]).toBe(world.modelId("sim-chat"));
      expect(blocks.length).toBeGreaterThan(0);
      expect(end).toMatchObject({
        delta: { stop_reason: expect.stringMatching(/end_turn|tool_use/) },
      });
      const told = world.calls()[0]?.told;
      expect(end).toMatchObject({ usage: { output_tokens: told?.outputTokens } });

      const asked = world.calls()[0]?.body ?? "";
      expect(asked).not.toContain("billing-header");
      const tools = body["tools"] as { input_schema?: object }[];
      expect((JSON.parse(asked) as { tools: object[] }).tools).toHaveLength(
        tools.filter(({ input_schema }) => input_schema !== undefined).length,
      );
    });
  });
}
