import { beforeAll, describe, expect, it } from "vitest";
import { readResponseEvents } from "../../codecs/responses/read-response-events.ts";
import { readSharedFixtures } from "../../support/shared-fixtures.ts";
import type { Body, EngineGateway } from "../engine-gateway.ts";
import { postResponse } from "../post-response.ts";

interface Recording {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body & {
    readonly input: readonly unknown[];
    readonly tools: readonly { readonly type: string; readonly tools?: readonly unknown[] }[];
  };
}

const question = [
  { type: "message", role: "developer", content: [{ type: "input_text", text: "You code." }] },
  { type: "message", role: "user", content: [{ type: "input_text", text: "Say: hi" }] },
];
const tools = [
  {
    type: "function",
    name: "exec_command",
    description: "Runs a command.",
    strict: false,
    parameters: { type: "object", properties: { cmd: { type: "string" } }, required: ["cmd"] },
  },
  {
    type: "custom",
    name: "apply_patch",
    description: "Edits files.",
    format: { type: "grammar", syntax: "lark", definition: "start: begin_patch hunk+ end_patch" },
  },
  {
    type: "namespace",
    name: "multi_agent_v1",
    description: "Sub-agents.",
    tools: [{ type: "function", name: "spawn_agent", strict: false, parameters: {} }],
  },
  { type: "tool_search", execution: "client" },
  { type: "web_search", external_web_access: true },
];

/** What a coding agent sends for a model that it knows: free text tools and a search for tools. */
const agent = (more: readonly unknown[] = []): Recording => ({
  headers: { accept: "text/event-stream", originator: "agent" },
  body: {
    model: "known-model",
    stream: true,
    store: false,
    input: [...question, ...more],
    tools,
    tool_choice: "auto",
    parallel_tool_calls: true,
    reasoning: { effort: "xhigh", summary: "auto" },
    include: ["reasoning.encrypted_content"],
    prompt_cache_key: "k",
    text: { verbosity: "low" },
    client_metadata: { session_id: "s" },
  },
});

const calls = [
  { type: "reasoning", summary: [], content: null, encrypted_content: "ENC==" },
  { type: "function_call", call_id: "c1", name: "exec_command", arguments: '{"cmd":"ls"}' },
  {
    type: "function_call",
    call_id: "c2",
    name: "spawn_agent",
    namespace: "multi_agent_v1",
    arguments: "{}",
  },
  { type: "custom_tool_call", call_id: "c3", name: "apply_patch", input: "*** Begin" },
  { type: "function_call_output", call_id: "c1", output: "a.txt" },
  { type: "function_call_output", call_id: "c2", output: "agent 1" },
  { type: "custom_tool_call_output", call_id: "c3", output: "done" },
];

const recordings: readonly (readonly [string, Recording])[] = [
  ["an agent, turn 1", agent()],
  ["an agent, turn 2", agent(calls)],
  ...readSharedFixtures(["clients"], ".json").flatMap(({ name, bytes }) => {
    const recording = JSON.parse(new TextDecoder().decode(bytes)) as Recording & { path: string };
    return recording.path === "/v1/responses" ? [[name, recording] as const] : [];
  }),
];

/** What coding agents were recorded to send is answered with a complete stream. */
export function recordedResponseCases(opened: () => EngineGateway): void {
  describe("1 clients of the responses format", () => {
    let world: EngineGateway;
    beforeAll(() => {
      world = opened();
    });

    const send = async ({ headers, body }: Recording) => {
      const { "accept-encoding": _encoding, ...rest } = headers;
      // What was redacted is no header any more.
      const sent = Object.entries(rest).filter(([, value]) => !value.includes("redacted"));
      const response = await postResponse(world, body, Object.fromEntries(sent));
      expect(response.status).toBe(200);
      return readResponseEvents(await response.text());
    };

    it.each(recordings)("answers the request of %s", async (_, recording) => {
      const { last } = await send(recording);
      expect(last.type).toBe("response.completed");
      expect(last.response.usage?.output_tokens).toBe(world.calls()[0]?.told?.outputTokens);
      const callable = recording.body.tools.flatMap((tool) => {
        if (tool.type === "namespace") return tool.tools ?? [];
        return ["function", "custom"].includes(tool.type) ? [tool] : [];
      });
      expect(world.askedOnce()["tools"]).toHaveLength(callable.length);
    });

    it.each(recordings)("gives %s its calls back in its own words", async (_, recording) => {
      // Calls each tool under the name that the model was told.
      await send(recording);
      const offered = world.asked()[0]?.["tools"] as { function: { name: string } }[];
      const toolCalls = offered.map(({ function: { name } }) => ({
        name,
        arguments: { input: `for ${name}` },
      }));
      world.simulator.script({ toolCalls, argumentCharacters: 4, interleaveToolCalls: true });
      const { last } = await send(recording);
      const called = last.response.output.map((item) => {
        if (item.type === "custom_tool_call") return [item.type, undefined, item.name];
        return item.type === "function_call" ? [item.type, item.namespace, item.name] : item;
      });
      const wanted = recording.body.tools.flatMap((tool) => namesIn(tool as Tool));
      expect(called).toEqual(wanted);
      for (const item of last.response.output) {
        if (item.type === "custom_tool_call") expect(item.input).toBe(`for ${item.name}`);
      }
    });

    it("gives the model the calls of an earlier turn under the names that it knows", async () => {
      await send(agent(calls));
      const { messages } = world.askedOnce() as { messages: { role: string }[] };
      expect(messages.map(({ role }) => role)).toEqual([
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "tool",
      ]);
      const turn = JSON.stringify(messages[2]);
      for (const name of ["exec_command", "multi_agent_v1__spawn_agent", "apply_patch"]) {
        expect(turn).toContain(`"name":"${name}"`);
      }
    });
  });
}

interface Tool {
  readonly type: string;
  readonly name: string;
  readonly tools?: readonly Tool[];
}

/** The calls of each tool that can be called: type, namespace and name. */
function namesIn({ type, name, tools: members = [] }: Tool): unknown[] {
  if (type === "function") return [["function_call", undefined, name]];
  if (type === "custom") return [["custom_tool_call", undefined, name]];
  return members.map((member) => ["function_call", name, member.name]);
}
