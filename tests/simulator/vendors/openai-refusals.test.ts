import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postJson } from "../../support/clients/post-json.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";

const KEY = "sk-real-key-0123456789";
const CHAT = "/v1/chat/completions";
const RESPONSES = "/v1/responses";

let simulator: TestSimulator;

beforeAll(async () => {
  simulator = await startSimulator({ engine: "openai", apiKey: KEY });
});
afterAll(() => simulator.stop());

const user = { role: "user" as const, content: "Say: Hi there" };
const weather = {
  name: "get_weather",
  description: "Weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } } },
};
const chatTool = { type: "function" as const, function: weather };

function post(path: string, body: unknown, headers: Record<string, string> = {}) {
  return postJson(simulator.url + path, body, { authorization: `Bearer ${KEY}`, ...headers });
}

describe("what the simulator refuses as OpenAI does", () => {
  const call = {
    role: "assistant",
    content: null,
    tool_calls: [
      { id: "call_1", type: "function", function: { name: "get_weather", arguments: "{}" } },
    ],
  };
  const result = { role: "tool", tool_call_id: "call_1", content: "Rain" };
  const strictTool = { ...chatTool, function: { ...weather, strict: true } };
  const picture = { type: "image_url", image_url: { url: "data:image/png;base64,QUJD" } };

  it.each([
    [
      "max_tokens on a reasoning model",
      { model: "gpt-5", max_tokens: 9 },
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    ],
    [
      "temperature on a reasoning model",
      { model: "gpt-5", temperature: 1 },
      "Unsupported parameter: 'temperature' is not supported with this model.",
    ],
    [
      "temperature while 5.1 reasons",
      { model: "gpt-5.1", reasoning_effort: "low", temperature: 0.5 },
      "Unsupported parameter: 'temperature'",
    ],
    [
      "a penalty on a reasoning model",
      { model: "gpt-5.1", presence_penalty: 1 },
      "Unsupported parameter: 'presence_penalty'",
    ],
    ["stop on o3", { model: "o3", stop: "x" }, "Unsupported parameter: 'stop'"],
    [
      "none on gpt-5",
      { model: "gpt-5", reasoning_effort: "none" },
      "Unsupported value: 'reasoning_effort' does not support 'none' with this model. Supported values are: 'minimal', 'low', 'medium', and 'high'.",
    ],
    ["minimal on gpt-5.1", { model: "gpt-5.1", reasoning_effort: "minimal" }, "Unsupported value"],
    ["xhigh on gpt-5.1", { model: "gpt-5.1", reasoning_effort: "xhigh" }, "Unsupported value"],
    ["max on gpt-5.2", { model: "gpt-5.2", reasoning_effort: "max" }, "Unsupported value"],
    ["none on gpt-6", { model: "gpt-6", reasoning_effort: "none" }, "Unsupported value"],
    [
      "an unknown effort",
      { model: "gpt-6", reasoning_effort: "extreme" },
      "Invalid value: 'extreme'",
    ],
    [
      "an effort on a plain model",
      { model: "gpt-4.1", reasoning_effort: "low" },
      "Unrecognized request argument supplied: reasoning_effort",
    ],
    [
      "tools while 5.6 reasons",
      { model: "gpt-5.6", reasoning_effort: "low", tools: [chatTool] },
      "Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions.",
    ],
    [
      "more tokens than the model says",
      { max_tokens: 32_769 },
      "max_tokens is too large: 32769. This model supports at most 32768 completion tokens",
    ],
    ["an unknown field", { top_k: 4 }, "Unrecognized request argument supplied: top_k"],
    [
      "a temperature over two",
      { temperature: 2.5 },
      "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 2.5 instead.",
    ],
    [
      "a temperature under zero",
      { temperature: -1 },
      "Invalid 'temperature': decimal below minimum value. Expected a value >= 0, but got -1 instead.",
    ],
    [
      "no room for an answer",
      { max_tokens: 0 },
      "Invalid 'max_tokens': integer below minimum value.",
    ],
    ["five stop strings", { stop: ["a", "b", "c", "d", "e"] }, "Invalid 'stop': array too long."],
    [
      "stream options without a stream",
      { stream_options: { include_usage: true } },
      "only allowed when 'stream' is enabled",
    ],
    ["an empty list of tools", { tools: [] }, "Invalid 'tools': empty array."],
    [
      "a choice without tools",
      { tool_choice: "required" },
      "'tool_choice' is only allowed when 'tools' are specified.",
    ],
    [
      "parallel calls without tools",
      { parallel_tool_calls: false },
      "'parallel_tool_calls' is only allowed when 'tools' are specified.",
    ],
    [
      "a choice of a tool that is not there",
      { tools: [chatTool], tool_choice: { type: "function", function: { name: "other" } } },
      "Tool choice 'other' not found in 'tools' parameter.",
    ],
    [
      "a tool's name with a dot",
      { tools: [{ type: "function", function: { name: "a.b" } }] },
      "string does not match pattern",
    ],
    [
      "a schema that is no object",
      { tools: [{ type: "function", function: { name: "a", parameters: { type: "string" } } }] },
      "schema must be a JSON Schema of 'type: \"object\"'",
    ],
    [
      "a strict schema that is open",
      { tools: [strictTool] },
      "'additionalProperties' is required to be supplied and to be false.",
    ],
    [
      "a JSON answer nobody speaks of",
      { response_format: { type: "json_object" } },
      "'messages' must contain the word 'json'",
    ],
    [
      "a JSON schema without a name",
      { response_format: { type: "json_schema", json_schema: { schema: {} } } },
      "Missing required parameter: 'response_format.json_schema.name'.",
    ],
    ["no message", { messages: [] }, "Invalid 'messages': empty array."],
    ["messages left out", { messages: undefined }, "Missing required parameter: 'messages'."],
    ["an unknown role", { messages: [{ role: "robot", content: "x" }] }, "Invalid value: 'robot'."],
    [
      "a user who says null",
      { messages: [{ role: "user", content: null }] },
      "Invalid value for 'content': expected a string, got null.",
    ],
    [
      "a part of the other format",
      { messages: [{ role: "user", content: [{ type: "input_text", text: "x" }] }] },
      "Invalid value: 'input_text'.",
    ],
    [
      "a call that nobody answers",
      { messages: [user, call, user] },
      "must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_1",
    ],
    [
      "a result that nobody asked for",
      { messages: [user, result] },
      "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    ],
    [
      "an id of 41 characters",
      {
        messages: [user, { ...call, tool_calls: [{ ...call.tool_calls[0], id: "c".repeat(41) }] }],
      },
      "string too long. Expected a string with maximum length 40",
    ],
    [
      "arguments that are an object",
      {
        messages: [
          user,
          {
            ...call,
            tool_calls: [{ ...call.tool_calls[0], function: { name: "f", arguments: {} } }],
          },
        ],
      },
      "Invalid type for 'messages[1].tool_calls[0].function.arguments'",
    ],
    [
      "a picture in a result",
      { messages: [user, call, { ...result, content: [picture] }] },
      "Image URLs are only allowed for messages with role 'user'",
    ],
  ])("chat: %s", async (_, changes, message) => {
    const reply = await post(CHAT, { model: "gpt-4.1", messages: [user], ...changes });
    expect(reply.status).toBe(400);
    expect(reply.body).toMatchObject({ error: { type: "invalid_request_error" } });
    expect(JSON.stringify(reply.body)).toContain(JSON.stringify(message).slice(1, -1));
    expect(Object.keys((reply.body as { error: object }).error)).toEqual([
      "message",
      "type",
      "param",
      "code",
    ]);
  });

  const item = { role: "user", content: "x" };
  const made = { type: "function_call", call_id: "call_1", name: "f", arguments: "{}" };
  const output = { type: "function_call_output", call_id: "call_1", output: "y" };
  it.each([
    [
      "temperature on a reasoning model",
      400,
      { model: "gpt-5", temperature: 1 },
      "Unsupported parameter: 'temperature' is not supported with this model.",
    ],
    [
      "an effort on a plain model",
      400,
      { reasoning: { effort: "low" } },
      "Unsupported parameter: 'reasoning.effort'",
    ],
    [
      "a summary on a plain model",
      400,
      { reasoning: { summary: "auto" } },
      "Unsupported parameter: 'reasoning.summary'",
    ],
    [
      "an effort the model lacks",
      400,
      { model: "gpt-5", reasoning: { effort: "max" } },
      "Unsupported value: 'reasoning.effort'",
    ],
    [
      "sealed reasoning of a plain model",
      400,
      { include: ["reasoning.encrypted_content"] },
      "Encrypted content is not supported with this model.",
    ],
    [
      "verbosity on a plain model",
      400,
      { text: { verbosity: "low" } },
      "Unsupported value: 'text.verbosity'",
    ],
    ["an unknown field", 400, { max_tokens: 9 }, "Unknown parameter: 'max_tokens'."],
    ["a stop string", 400, { stop: ["x"] }, "Unknown parameter: 'stop'."],
    [
      "an unknown field of reasoning",
      400,
      { reasoning: { budget: 9 } },
      "Unknown parameter: 'reasoning.budget'.",
    ],
    [
      "fewer than 16 tokens",
      400,
      { max_output_tokens: 5 },
      "Expected a value >= 16, but got 5 instead.",
    ],
    [
      "a tool in the chat form",
      400,
      { tools: [chatTool] },
      "Unknown parameter: 'tools[0].function'.",
    ],
    ["an unknown tool", 400, { tools: [{ type: "magic" }] }, "Invalid value: 'magic'."],
    ["an unknown include", 400, { include: ["everything"] }, "Invalid value: 'everything'."],
    [
      "an earlier response",
      400,
      { previous_response_id: "resp_1" },
      "Previous response with id 'resp_1' not found.",
    ],
    [
      "a part of the other format",
      400,
      { input: [{ role: "user", content: [{ type: "text", text: "x" }] }] },
      "Invalid value: 'text'.",
    ],
    [
      "input text of the assistant",
      400,
      { input: [{ role: "assistant", content: [{ type: "input_text", text: "x" }] }] },
      "Supported values are: 'output_text' and 'refusal'.",
    ],
    [
      "a picture that is an object",
      400,
      { input: [{ role: "user", content: [{ type: "input_image", image_url: { url: "x" } }] }] },
      "Invalid type for 'input[0].content[0].image_url': expected a string",
    ],
    ["an unknown item", 400, { input: [{ type: "wish" }] }, "Invalid value: 'wish'."],
    ["a role tool", 400, { input: [{ role: "tool", content: "x" }] }, "Invalid value: 'tool'."],
    [
      "a call's id in the place of the item's",
      400,
      { input: [item, { ...made, id: "call_1" }, output] },
      "Expected an ID that begins with 'fc'.",
    ],
    [
      "a call that nobody answers",
      400,
      { input: [item, made] },
      "No tool output found for function call call_1.",
    ],
    [
      "an output that nobody asked for",
      400,
      { input: [item, output] },
      "No tool call found for function call output with call_id call_1.",
    ],
    [
      "a foreign seal",
      400,
      {
        model: "gpt-5",
        input: [item, { type: "reasoning", summary: [], encrypted_content: "Zm9yZWlnbg" }, item],
      },
      "could not be verified",
    ],
    [
      "reasoning without a summary",
      400,
      { model: "gpt-5", input: [item, { type: "reasoning" }] },
      "Missing required parameter: 'input[1].summary'.",
    ],
    [
      "reasoning by its id alone",
      404,
      {
        model: "gpt-5",
        store: false,
        input: [item, { type: "reasoning", id: "rs_1", summary: [] }, item],
      },
      "Items are not persisted when `store` is set to false.",
    ],
  ])("responses: %s", async (_, status, changes, message) => {
    const reply = await post(RESPONSES, { model: "gpt-4.1", input: "x", ...changes });
    expect(reply.status).toBe(status);
    expect(reply.text).toContain(JSON.stringify(message).slice(1, -1));
  });

  it("takes what the newest generations take", async () => {
    for (const changes of [
      { model: "gpt-5.1", temperature: 0.5, reasoning_effort: "none" },
      { model: "gpt-5.2", reasoning_effort: "xhigh" },
      { model: "gpt-5.6", tools: [chatTool], reasoning_effort: "none" },
      { model: "gpt-6", reasoning_effort: "max", max_completion_tokens: 500 },
    ]) {
      expect((await post(CHAT, { messages: [user], ...changes })).status).toBe(200);
    }
  });

  it("a model that is not there, or not here", async () => {
    const unknown = await post(CHAT, { model: "gpt-9", messages: [user] });
    expect(unknown).toMatchObject({ status: 404, body: { error: { code: "model_not_found" } } });
    const pro = await post(CHAT, { model: "gpt-5-pro", messages: [user] });
    expect(pro.status).toBe(404);
    expect(pro.text).toContain("only supported in v1/responses");
    expect((await post(RESPONSES, { model: "gpt-5-pro", input: "x" })).status).toBe(200);
  });

  it("no key, a wrong key, another media type, no JSON, another address", async () => {
    const body = { model: "gpt-4.1", messages: [user] };
    expect((await postJson(simulator.url + CHAT, body)).status).toBe(401);
    const wrong = await post(CHAT, body, { authorization: "Bearer sk-wrong-key" });
    expect(wrong).toMatchObject({ status: 401, body: { error: { code: "invalid_api_key" } } });
    expect(wrong.text).not.toContain("sk-wrong-key");
    const plain = await post(CHAT, body, { "content-type": "text/plain" });
    expect(plain.body).toMatchObject({ error: { code: "unsupported_content_type" } });
    expect((await post(CHAT, "{")).text).toContain("We could not parse the JSON body");
    expect((await post("/v1/chat", body)).text).toContain("Invalid URL (POST /v1/chat)");
  });

  it("more than the context holds", async () => {
    const small = await startSimulator({
      engine: "openai",
      models: [{ name: "gpt-4.1", contextLength: 40, capabilities: ["completion"] }],
    });
    const headers = { authorization: "Bearer x" };
    const long = "word ".repeat(60);
    const messages = [{ role: "user", content: long }];
    const chat = await postJson(small.url + CHAT, { model: "gpt-4.1", messages }, headers);
    expect(chat.body).toMatchObject({
      error: {
        code: "context_length_exceeded",
        message: expect.stringMatching(
          /^This model's maximum context length is 40 tokens\. However, your messages resulted in \d+ tokens\./,
        ),
      },
    });
    const response = await postJson(
      small.url + RESPONSES,
      { model: "gpt-4.1", input: long },
      headers,
    );
    expect(response.body).toMatchObject({ error: { code: "context_length_exceeded" } });
    await small.stop();
  });
});
