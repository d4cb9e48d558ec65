import { beforeAll, describe, expect, it } from "vitest";
import { readSharedFixtures } from "../../support/shared-fixtures.ts";
import type { Body, EngineGateway } from "../engine-gateway.ts";

interface Recording {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;
}

/** The second turn of an agent, as the coding agents of the day write it. */
const ownRecording: Recording = {
  headers: { accept: "*/*", "x-session-affinity": "ses_1" },
  body: {
    model: "some-model",
    max_tokens: 32_000,
    messages: [
      { role: "system", content: "You are an agent." },
      { role: "user", content: [{ type: "text", text: "Run echo hi" }] },
      {
        role: "assistant",
        content: null,
        reasoning_content: "thinking...",
        tool_calls: [
          { id: "call_1", type: "function", function: { name: "bash", arguments: '{"c":"echo"}' } },
        ],
      },
      { role: "tool", tool_call_id: "call_1", content: '[{"result":"hi\\n"}]' },
    ],
    tools: [
      {
        type: "function",
        function: {
          name: "bash",
          description: "Runs a command.",
          parameters: { $schema: "http://json-schema.org/draft-07/schema#", type: "object" },
          strict: false,
        },
      },
      { type: "custom", custom: { name: "apply_patch", format: { type: "text" } } },
    ],
    tool_choice: "auto",
    stream: true,
    stream_options: { include_usage: true },
  },
};

const recordings: readonly (readonly [string, Recording])[] = [
  ["an agent of our own writing", ownRecording],
  ...readSharedFixtures(["clients"], "-chat-turn2.json").map(
    ({ name, bytes }) => [name, JSON.parse(new TextDecoder().decode(bytes)) as Recording] as const,
  ),
];

/** What coding agents were recorded to send is answered with a complete stream. */
export function recordedClientCases(opened: () => EngineGateway): void {
  describe("1 clients of the chat-completion format", () => {
    let world: EngineGateway;
    beforeAll(() => {
      world = opened();
    });

    it.each(recordings)("answers the request of %s", async (_, { headers, body }) => {
      const { authorization: _key, "accept-encoding": _encoding, ...rest } = headers;
      const response = await world.post(body, rest);
      expect(response.status).toBe(200);
      const frames = (await response.text()).trimEnd().split("\n\n");
      expect(frames.pop()).toBe("data: [DONE]");
      const chunks = frames.map((frame) => JSON.parse(frame.slice("data: ".length)) as Chunk);
      const choices = chunks.flatMap((chunk) => chunk.choices);
      expect(chunks.some((chunk) => "error" in chunk)).toBe(false);
      expect(choices.filter(({ finish_reason }) => finish_reason !== null)).toHaveLength(1);
      const text = choices.map(({ delta }) => delta.content ?? "").join("");
      // The last message is a tool's result, and so the simulator quotes it.
      expect(text).toMatch(/^The tool answered: .*hi/);
      const usage = chunks.at(-1)?.usage;
      expect(usage?.completion_tokens).toBe(world.calls()[0]?.told?.outputTokens);

      const asked = world.askedOnce();
      const given = body as { messages: unknown[]; tools: { type: string }[] };
      expect(asked["messages"]).toHaveLength(given.messages.length);
      expect(asked["tools"]).toHaveLength(
        given.tools.filter(({ type }) => type === "function").length,
      );
    });
  });
}

interface Chunk {
  readonly choices: readonly {
    readonly delta: { readonly content?: string };
    readonly finish_reason: string | null;
  }[];
  readonly usage?: { readonly completion_tokens: number } | null;
}
