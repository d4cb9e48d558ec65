import type Anthropic from "@anthropic-ai/sdk";
import { beforeAll, describe, expect, it } from "vitest";
import { anthropicBefore } from "../ask-messages.ts";
import type { Engine, EngineGateway } from "../engine-gateway.ts";

type Body = Pick<Anthropic.MessageCountTokensParams, "messages" | "system" | "tools">;

const tools = Array.from({ length: 12 }, (_, index) => ({
  name: `tool_${index}`,
  description: "Does one thing and tells of it in a few words.",
  input_schema: {
    type: "object" as const,
    properties: { path: { type: "string", description: "Where." }, depth: { type: "integer" } },
    required: ["path"],
  },
}));

const question = (words: number) => [
  { role: "user" as const, content: "Tell me about it. ".repeat(words) },
];
const bodies: readonly (readonly [string, Body])[] = [
  ["a word", { messages: [{ role: "user", content: "foo" }] }],
  ["a question", { messages: question(5), system: "Be brief." }],
  ["a long question", { messages: question(2_000) }],
  ["twelve tools", { messages: question(20), tools, system: "Be brief." }],
  [
    "a round of tools",
    {
      tools,
      messages: [
        ...question(50),
        {
          role: "assistant",
          content: [
            { type: "text", text: "I look." },
            { type: "tool_use", id: "t1", name: "tool_1", input: { path: "/a", depth: 3 } },
          ],
        },
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: "t1", content: "nothing ".repeat(300) }],
        },
      ],
    },
  ],
];

export function messageCountCases(engine: Engine, opened: () => EngineGateway): void {
  describe("4.1 POST /v1/messages/count_tokens", () => {
    let world: EngineGateway;
    let client: Anthropic;

    beforeAll(() => {
      world = opened();
      client = anthropicBefore(world);
    });

    const count = (body: Body) =>
      client.messages.countTokens({ model: world.modelId("sim-chat"), ...body }).withResponse();

    it.each(bodies)("counts %s as the engine does, or says that it estimates", async (_, body) => {
      const { data, response } = await count(body);
      expect(Object.keys(data)).toEqual(["input_tokens"]);
      expect(response.headers.get("request-id")).toBe(response.headers.get("x-request-id"));
      const model = world.modelId("sim-chat");
      await client.messages.create({ model, max_tokens: 1, ...body });
      const truth = world.calls().at(-1)?.told?.inputTokens ?? 0;
      const isEstimated = response.headers.get("x-token-count") === "estimated";
      expect(isEstimated).toBe(engine === "ollama");
      if (isEstimated) expect(data.input_tokens).toBeGreaterThan(0);
      else expect(Math.abs(data.input_tokens - truth)).toBeLessThanOrEqual(truth * 0.02);
    });

    it("counts dozens at once, with no tools and a tiny message each", async () => {
      const counts = await Promise.all(
        Array.from({ length: 48 }, () => count({ messages: question(1), tools: [] })),
      );
      expect(new Set(counts.map(({ data }) => data.input_tokens)).size).toBe(1);
      expect(world.calls()).toEqual([]);
    });

    it("is refused like a call: by the model's name, by a wrong body, without a key", async () => {
      await expect(
        client.messages.countTokens({ model: "asst_nope", messages: question(1) }),
      ).rejects.toMatchObject({ status: 404, type: "not_found_error" });
      await expect(
        client.messages.countTokens({ model: "sim-chat", messages: [] }),
      ).rejects.toMatchObject({ status: 400, type: "invalid_request_error" });
      await expect(
        client
          .withOptions({ apiKey: "sk-unknown-0123456789abcdef" })
          .messages.countTokens({ model: "sim-chat", messages: question(1) }),
      ).rejects.toMatchObject({ status: 401, type: "authentication_error" });
    });
  });
}
