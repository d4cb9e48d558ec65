import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postJson } from "../../support/clients/post-json.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";

const KEY = "sk-ant-real-key-0123456789";

let simulator: TestSimulator;
/** What the model thought and sealed, to be given back. */
let thought: Record<string, unknown>;

beforeAll(async () => {
  simulator = await startSimulator({ engine: "anthropic", apiKey: KEY });
  const thinking = { type: "enabled", budget_tokens: 1_024 };
  const { body } = await post({ thinking });
  [thought = {}] = (body as { content: Record<string, unknown>[] }).content;
});
afterAll(() => simulator.stop());

const user = { role: "user", content: "Say: Hi there" };
const call = { type: "tool_use", id: "toolu_1", name: "get_weather", input: {} };
const calls = { role: "assistant", content: [call] };
const result = { type: "tool_result", tool_use_id: "toolu_1", content: "Rain" };
const results = { role: "user", content: [result] };
const weather = { name: "get_weather", input_schema: { type: "object", properties: {} } };
const usual = { model: "claude-sonnet-4-5", max_tokens: 4_096, messages: [user] };
const headers = { "x-api-key": KEY, "anthropic-version": "2023-06-01" };

function post(changes: object, more: Record<string, string> = {}) {
  const body = { ...usual, ...changes };
  return postJson(`${simulator.url}/v1/messages`, body, { ...headers, ...more });
}

async function expectRefused(changes: object, message: string): Promise<void> {
  const reply = await post(changes);
  expect(reply.status).toBe(400);
  const requestId = reply.headers.get("request-id");
  expect(reply.body).toEqual({
    type: "error",
    error: { type: "invalid_request_error", message: expect.stringContaining(message) },
    request_id: requestId,
  });
}

const enabled = { thinking: { type: "enabled", budget_tokens: 2_000 } };
const adaptive = { thinking: { type: "adaptive" } };
const disabled = { thinking: { type: "disabled" } };
const effort = (level: string) => ({ output_config: { effort: level } });

describe("what the simulator refuses as Anthropic does, by generation", () => {
  it.each([
    ["adaptive on 4.5", adaptive, "adaptive thinking is not supported on this model"],
    ["effort on Sonnet 4.5", effort("low"), "This model does not support the effort parameter."],
    [
      "max on Opus 4.5",
      { model: "claude-opus-4-5", ...effort("max") },
      "Supported levels: high, low, medium.",
    ],
    [
      "xhigh on 4.6",
      { model: "claude-opus-4-6", ...effort("xhigh") },
      "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",
    ],
    [
      "an effort of none",
      { model: "claude-opus-4-6", ...effort("none") },
      "output_config.effort: Input should be",
    ],
    [
      "a budget on 4.8",
      { model: "claude-opus-4-8", ...enabled },
      '"thinking.type.enabled" is not supported for this model.',
    ],
    [
      "temperature on Sonnet 5",
      { model: "claude-sonnet-5", ...disabled, temperature: 0.5 },
      "`temperature` is deprecated for this model.",
    ],
    ["top_p on Sonnet 5", { model: "claude-sonnet-5", top_p: 0.9 }, "`top_p` is deprecated"],
    ["top_k on Sonnet 5", { model: "claude-sonnet-5", top_k: 5 }, "`top_k` is deprecated"],
    [
      "disabled on Opus 5.5",
      { model: "claude-opus-5-5", ...disabled },
      '"thinking.type.disabled" is not supported',
    ],
    [
      "disabled on Sonnet 5.5",
      { model: "claude-sonnet-5-5", ...disabled },
      '"thinking.type.disabled" is not supported',
    ],
    [
      "between_tools with much effort",
      { model: "claude-sonnet-5-5", thinking: { type: "between_tools" }, ...effort("max") },
      'above "high"',
    ],
    [
      "disabled with much effort on Opus 5",
      { model: "claude-opus-5", ...disabled, ...effort("xhigh") },
      'above "high"',
    ],
    [
      "a forced tool on Opus 5.5",
      { model: "claude-opus-5-5", tools: [weather], tool_choice: { type: "any" } },
      "forced tool use is not supported",
    ],
    [
      "a forced tool while thinking",
      { ...enabled, tools: [weather], tool_choice: { type: "any" } },
      "Thinking may not be enabled when tool_choice forces tool use.",
    ],
    [
      "temperature while thinking",
      { ...enabled, temperature: 0.5 },
      "`temperature` may only be set to 1 when thinking is enabled.",
    ],
    [
      "top_k while thinking",
      { ...enabled, top_k: 5 },
      "`top_k` must be unset when thinking is enabled.",
    ],
    [
      "top_p while thinking",
      { ...enabled, top_p: 0.5 },
      "`top_p` must be greater than or equal to 0.95",
    ],
    [
      "temperature and top_p together",
      { temperature: 1, top_p: 1 },
      "`temperature` and `top_p` cannot both be specified",
    ],
    [
      "a small budget",
      { thinking: { type: "enabled", budget_tokens: 1_000 } },
      "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
    ],
    [
      "no budget",
      { thinking: { type: "enabled" } },
      "thinking.enabled.budget_tokens: Field required",
    ],
    [
      "a budget over the limit",
      { thinking: { type: "enabled", budget_tokens: 4_096 } },
      "`max_tokens` must be greater than `thinking.budget_tokens`.",
    ],
    [
      "an unknown kind of thinking",
      { thinking: { type: "deep" } },
      "Input tag 'deep' found using 'type'",
    ],
    [
      "too many tokens on 4.5",
      { max_tokens: 64_001 },
      "max_tokens: 64001 > 64000, which is the maximum allowed number of output tokens",
    ],
    [
      "too many tokens on 4.1",
      { model: "claude-opus-4-1", max_tokens: 32_001 },
      "max_tokens: 32001 > 32000",
    ],
    [
      "a prefill on 4.6",
      { model: "claude-opus-4-6", messages: [user, { role: "assistant", content: "Hi" }] },
      "does not support assistant message prefill",
    ],
    [
      "a system message on 4.5",
      { messages: [user, { role: "system", content: "x" }] },
      "messages: role 'system' is not supported on this model",
    ],
    [
      "an output format on 4.1",
      { model: "claude-opus-4-1", output_config: { format: { type: "json_schema", schema: {} } } },
      "does not support output formats",
    ],
  ])("%s", (_, changes, message) => expectRefused(changes, message));

  it("takes what each generation takes", async () => {
    for (const changes of [
      { temperature: 0.3 },
      { model: "claude-opus-4-6", ...adaptive, ...effort("max") },
      { model: "claude-opus-4-6", ...enabled },
      { model: "claude-sonnet-5", ...adaptive, temperature: 1, top_p: 0.99, ...effort("xhigh") },
      { model: "claude-opus-5", ...disabled, ...effort("high") },
      { model: "claude-sonnet-5-5", thinking: { type: "between_tools" } },
      { model: "claude-opus-5-5", max_tokens: 128_000 },
    ]) {
      expect((await post(changes)).text).toContain("Hi there");
    }
  });

  it("sampling under the version that has none", async () => {
    const reply = await post({ temperature: 1 }, { "anthropic-version": "2026-10-21" });
    expect(reply.text).toContain("temperature: Extra inputs are not permitted");
  });
});

describe("what the simulator refuses as Anthropic does, in any generation", () => {
  const blocks = (...content: object[]) => ({ messages: [{ role: "user", content }] });
  const picture = (source: object) => blocks({ type: "image", source });
  const marked = { type: "text", text: "x", cache_control: { type: "ephemeral" } };

  it.each([
    ["an unknown field", { stop: ["x"] }, "stop: Extra inputs are not permitted"],
    [
      "an unknown field of metadata",
      { metadata: { user: "x" } },
      "metadata.user: Extra inputs are not permitted",
    ],
    [
      "a beta's field without its beta",
      { context_management: {} },
      "context_management: Extra inputs",
    ],
    ["no limit", { max_tokens: undefined }, "max_tokens: Field required"],
    ["a limit of null", { max_tokens: null }, "max_tokens: Input should be a valid integer"],
    ["a temperature over one", { temperature: 1.5 }, "temperature: range: 0..1"],
    [
      "a blank stop sequence",
      { stop_sequences: [" "] },
      "each stop sequence must contain non-whitespace",
    ],
    ["no message", { messages: [] }, "messages: at least one message is required"],
    [
      "a first message of the assistant",
      { messages: [{ role: "assistant", content: "x" }, user] },
      'first message must use the "user" role',
    ],
    [
      "a role tool",
      { messages: [{ role: "tool", content: "x" }] },
      "messages.0.role: Input should be 'user' or 'assistant'",
    ],
    [
      "a message without content",
      { messages: [{ role: "user", content: "" }] },
      "messages.0: all messages must have non-empty content",
    ],
    ["an empty text", blocks({ type: "text", text: "" }), "text content blocks must be non-empty"],
    ["a blank text", blocks({ type: "text", text: " \n" }), "must contain non-whitespace text"],
    [
      "an empty system text",
      { system: [{ type: "text", text: "" }] },
      "system: text content blocks must be non-empty",
    ],
    [
      "trailing white space in a prefill",
      { messages: [user, { role: "assistant", content: "Hi " }] },
      "final assistant content cannot end with trailing whitespace",
    ],
    [
      "a block of the other format",
      blocks({ type: "image_url", image_url: {} }),
      "Input tag 'image_url' found using 'type'",
    ],
    ["a call by the user", blocks(call), "Input tag 'tool_use' found using 'type'"],
    [
      "a picture of another kind",
      picture({ type: "base64", media_type: "image/tiff", data: "QUJD" }),
      "media_type: Input should be 'image/jpeg'",
    ],
    [
      "a picture that is a data address",
      picture({ type: "url", url: "data:image/png;base64,QUJD" }),
      "Only HTTPS URLs are supported.",
    ],
    [
      "a call that nobody answers",
      { messages: [user, calls, user] },
      "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.",
    ],
    [
      "a text before the result",
      { messages: [user, calls, { role: "user", content: [{ type: "text", text: "x" }, result] }] },
      "`tool_use` ids were found without `tool_result` blocks immediately after",
    ],
    [
      "a result that nobody asked for",
      { messages: [results] },
      "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1.",
    ],
    [
      "two results of one call",
      { messages: [user, calls, { role: "user", content: [result, result] }] },
      "each tool_use must have a single result.",
    ],
    [
      "an id used twice",
      { messages: [user, calls, results, calls, results] },
      "`tool_use` ids must be unique",
    ],
    [
      "an id with a dot",
      { messages: [user, { role: "assistant", content: [{ ...call, id: "a.b" }] }, user] },
      "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ],
    [
      "arguments as text",
      { messages: [user, { role: "assistant", content: [{ ...call, input: "{}" }] }, user] },
      "tool_use.input: Input should be a valid dictionary",
    ],
    [
      "thinking without a seal",
      {
        messages: [
          user,
          { role: "assistant", content: [{ type: "thinking", thinking: "x" }] },
          user,
        ],
      },
      "messages.1.content.0.thinking.signature: Field required",
    ],
    [
      "thinking with a foreign seal",
      {
        messages: [
          user,
          {
            role: "assistant",
            content: [{ type: "thinking", thinking: "x", signature: "Zm9yZWlnbg==" }],
          },
          user,
        ],
      },
      "messages.1.content.0: Invalid `signature` in `thinking` block",
    ],
    [
      "a foreign redacted block",
      {
        messages: [
          user,
          { role: "assistant", content: [{ type: "redacted_thinking", data: "Zm9yZWlnbg==" }] },
          user,
        ],
      },
      "Invalid `data` in `redacted_thinking` block",
    ],
    [
      "a call without its thinking",
      { ...enabled, messages: [user, calls, results] },
      "Expected `thinking` or `redacted_thinking`, but found `tool_use`.",
    ],
    [
      "a tool's name with a dot",
      { tools: [{ ...weather, name: "a.b" }] },
      "tools.0.custom.name: String should match pattern",
    ],
    [
      "a tool without a schema",
      { tools: [{ name: "a" }] },
      "tools.0.custom.input_schema: Field required",
    ],
    [
      "a schema without a type",
      { tools: [{ name: "a", input_schema: {} }] },
      "tools.0.custom.input_schema.type: Field required",
    ],
    [
      "a tool in the chat form",
      { tools: [{ ...weather, function: {} }] },
      "tools.0.custom.function: Extra inputs are not permitted",
    ],
    ["two tools of one name", { tools: [weather, weather] }, "tools: Tool names must be unique."],
    [
      "a choice in the chat form",
      { tools: [weather], tool_choice: { type: "function" } },
      "tool_choice: Input tag 'function' found using 'type'",
    ],
    [
      "a choice without tools",
      { tool_choice: { type: "auto" } },
      "tool_choice may only be specified while providing tools",
    ],
    [
      "a choice of a tool that is not there",
      { tools: [weather], tool_choice: { type: "tool", name: "x" } },
      "Tool 'x' not found in provided tools",
    ],
    [
      "an open schema as format",
      { output_config: { format: { type: "json_schema", schema: { type: "object" } } } },
      "'additionalProperties' must be explicitly set to false",
    ],
    [
      "five marks for the cache",
      blocks(marked, marked, marked, marked, marked),
      "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ],
  ])("%s", (_, changes, message) => expectRefused(changes, message));

  it("thinking that was changed, in the last turn only", async () => {
    const changed = { role: "assistant", content: [{ ...thought, thinking: "Otherwise." }] };
    const answer = { role: "assistant", content: "Hi" };
    await expectRefused(
      { messages: [user, changed, user] },
      "blocks in the latest assistant message cannot be modified.",
    );
    expect((await post({ messages: [user, changed, user, answer, user] })).status).toBe(200);
  });

  it("no key, a wrong one, no version, an unknown one, another media type, no JSON", async () => {
    const url = `${simulator.url}/v1/messages`;
    const bearer = await postJson(url, usual, { authorization: `Bearer ${KEY}` });
    expect(bearer).toMatchObject({
      status: 401,
      body: { error: { type: "authentication_error" } },
    });
    expect((await post({}, { "x-api-key": "other" })).text).toContain("invalid x-api-key");
    const unversioned = await postJson(url, usual, { "x-api-key": KEY });
    expect(unversioned.text).toContain("anthropic-version: header is required");
    expect((await post({}, { "anthropic-version": "1" })).text).toContain("is not a valid version");
    expect((await post({}, { "content-type": "text/plain" })).status).toBe(400);
    expect((await postJson(url, "{", headers)).text).toContain("is not valid JSON");
  });

  it("a model or an address that is not there", async () => {
    const unknown = await post({ model: "claude-does-not-exist" });
    expect(unknown.status).toBe(404);
    expect(unknown.body).toMatchObject({
      type: "error",
      error: { type: "not_found_error", message: "model: claude-does-not-exist" },
    });
    const elsewhere = await postJson(`${simulator.url}/v1/complete`, {}, headers);
    expect(elsewhere).toMatchObject({ status: 404, body: { request_id: expect.any(String) } });
  });

  it("more than the context holds, in the words that clients parse", async () => {
    const small = await startSimulator({
      engine: "anthropic",
      models: [{ name: "claude-sonnet-4-5", contextLength: 100, capabilities: ["completion"] }],
    });
    const ask = (content: string, max_tokens: number) =>
      postJson(
        `${small.url}/v1/messages`,
        { ...usual, max_tokens, messages: [{ role: "user", content }] },
        headers,
      );
    expect((await ask("word ".repeat(120), 9)).text).toMatch(
      /prompt is too long: \d+ tokens > 100 maximum/,
    );
    expect((await ask("Hi", 99)).text).toMatch(
      /input length and `max_tokens` exceed context limit: \d+ \+ 99 > 100/,
    );
    await small.stop();
  });
});
