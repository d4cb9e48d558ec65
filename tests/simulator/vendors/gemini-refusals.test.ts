import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postJson } from "../../support/clients/post-json.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";

const KEY = "AIza-real-key-0123456789";

let simulator: TestSimulator;

beforeAll(async () => {
  simulator = await startSimulator({ engine: "gemini", apiKey: KEY });
});
afterAll(() => simulator.stop());

const user = { role: "user", parts: [{ text: "Say: Hi there" }] };
const made = { functionCall: { name: "get_weather", args: {} } };
const call = { role: "model", parts: [made] };
const response = { functionResponse: { name: "get_weather", response: { result: "Rain" } } };
const answer = { role: "user", parts: [response] };
const weather = { name: "get_weather", parametersJsonSchema: { type: "object" } };
const tools = [{ functionDeclarations: [weather] }];

function ask(changes: object, model = "gemini-2.5-flash", headers: Record<string, string> = {}) {
  const url = `${simulator.url}/v1beta/models/${model}:generateContent`;
  return postJson(url, { contents: [user], ...changes }, { "x-goog-api-key": KEY, ...headers });
}

async function expectRefused(changes: object, message: string, model?: string): Promise<void> {
  const reply = await ask(changes, model);
  expect(reply).toMatchObject({
    status: 400,
    body: { error: { code: 400, status: "INVALID_ARGUMENT" } },
  });
  const { error } = reply.body as { error: { message: string } };
  expect(error.message).toContain(message);
}

const config = (generationConfig: object) => ({ generationConfig });
const thinking = (thinkingConfig: object) => config({ thinkingConfig });
const said = (...contents: object[]) => ({ contents, tools });

describe("what the simulator refuses as Gemini does", () => {
  it.each([
    [
      "gemini-2.0-flash",
      "thinking where there is none",
      thinking({ thinkingBudget: 0 }),
      "Thinking is not enabled for models/gemini-2.0-flash",
    ],
    [
      "gemini-2.5-pro",
      "a budget of 0 on 2.5 pro",
      thinking({ thinkingBudget: 0 }),
      "Budget 0 is invalid. This model only works in thinking mode.",
    ],
    [
      "gemini-2.5-pro",
      "a budget under 128 on 2.5 pro",
      thinking({ thinkingBudget: 100 }),
      "The thinking budget 100 is invalid. Please choose a value between 128 and 32768.",
    ],
    [
      "gemini-2.5-flash",
      "a budget over the limit",
      thinking({ thinkingBudget: 24_577 }),
      "Please choose a value between 1 and 24576.",
    ],
    [
      "gemini-2.5-flash",
      "a level on 2.5",
      thinking({ thinkingLevel: "LOW" }),
      "Thinking level is not supported for this model.",
    ],
    [
      "gemini-3-pro",
      "both a budget and a level",
      thinking({ thinkingLevel: "LOW", thinkingBudget: 500 }),
      "You can only set only one of thinking budget and thinking level.",
    ],
    [
      "gemini-3-pro",
      "the lowest level on 3 pro",
      thinking({ thinkingLevel: "MINIMAL" }),
      "Thinking level MINIMAL is not supported for this model.",
    ],
    [
      "gemini-3-pro",
      "an unknown level",
      thinking({ thinkingLevel: "MAX" }),
      "Invalid value at 'generation_config.thinking_config.thinking_level'",
    ],
    [
      "gemini-3-pro",
      "a call without its signature",
      said(user, call, answer),
      "Function call is missing a thought_signature in functionCall parts.",
    ],
    [
      "gemini-3-pro",
      "a foreign signature",
      said(user, { role: "model", parts: [{ ...made, thoughtSignature: "Zm9yZWlnbg==" }] }, answer),
      "Corrupted thought signature.",
    ],
    [
      "gemini-3-pro",
      "a signature that is no base64",
      said(user, { role: "model", parts: [{ ...made, thoughtSignature: "not base64!" }] }, answer),
      "(TYPE_BYTES), Base64 decoding failed",
    ],
    [
      "gemini-2.5-flash",
      "JSON together with functions",
      { tools, ...config({ responseMimeType: "application/json" }) },
      "Function calling with a response mime type: 'application/json' is unsupported",
    ],
  ])("%s: %s", (model, _, changes, message) => expectRefused(changes, message, model));

  it.each([
    [
      "an unknown field",
      { messages: [] },
      'Invalid JSON payload received. Unknown name "messages": Cannot find field.',
    ],
    [
      "an unknown setting",
      config({ maxTokens: 9 }),
      "Unknown name \"maxTokens\" at 'generation_config': Cannot find field.",
    ],
    [
      "an unknown field of a part",
      { contents: [{ parts: [{ type: "text", text: "x" }] }] },
      "Unknown name \"type\" at 'contents[0].parts[0]': Cannot find field.",
    ],
    [
      "a temperature over two",
      config({ temperature: 2.5 }),
      "temperature must be in the range [0, 2]",
    ],
    [
      "a temperature that is text",
      config({ temperature: "1" }),
      "Invalid value at 'generation_config.temperature' (TYPE_FLOAT)",
    ],
    [
      "too many tokens",
      config({ maxOutputTokens: 65_537 }),
      "the supported range is from 1 (inclusive) to 65537 (exclusive)",
    ],
    [
      "six stop sequences",
      config({ stopSequences: ["a", "b", "c", "d", "e", "f"] }),
      "the number of stop sequences must not exceed 5",
    ],
    [
      "a schema without its type",
      config({ responseJsonSchema: {} }),
      "only allowed when response_mime_type is `application/json`",
    ],
    ["an unknown type", config({ responseMimeType: "text/html" }), "allowed mimetypes are"],
    [
      "no content",
      { contents: [] },
      "* GenerateContentRequest.contents: contents is not specified",
    ],
    [
      "a content without parts",
      { contents: [{ role: "user", parts: [] }] },
      "contents.parts must not be empty",
    ],
    [
      "an empty part",
      { contents: [{ parts: [{}] }] },
      "required oneof field 'data' must have one initialized field",
    ],
    [
      "a part of two kinds",
      { contents: [{ parts: [{ text: "x", ...made }] }] },
      "oneof field 'data' is already set",
    ],
    ["a text that is none", { contents: [{ parts: [{ text: 1 }] }] }, "(TYPE_STRING), 1"],
    [
      "the role assistant",
      { contents: [{ role: "assistant", parts: [{ text: "x" }] }] },
      "Please use a valid role: user, model.",
    ],
    [
      "the role tool",
      said(user, call, { ...answer, role: "tool" }),
      "Please use a valid role: user, model.",
    ],
    [
      "a picture that is no base64",
      { contents: [{ parts: [{ inlineData: { mimeType: "image/png", data: "data:x" } }] }] },
      "Base64 decoding failed",
    ],
    [
      "a picture of another kind",
      { contents: [{ parts: [{ inlineData: { mimeType: "image/tiff", data: "QUJD" } }] }] },
      "Unsupported MIME type: image/tiff",
    ],
    [
      "a conversation that opens with a call",
      said(call, answer),
      "function call turn comes immediately after a user turn",
    ],
    [
      "a response that nobody asked for",
      said(user, answer),
      "function response turn comes immediately after a function call turn",
    ],
    [
      "a call that nobody answers",
      said(user, call, user),
      "the number of function response parts is equal to the number of function call parts",
    ],
    [
      "one response to two calls",
      said(user, { role: "model", parts: [made, made] }, answer),
      "the number of function response parts is equal",
    ],
    [
      "a response that is text",
      said(user, call, {
        role: "user",
        parts: [{ functionResponse: { name: "f", response: "Rain" } }],
      }),
      "Invalid value at 'contents[2].parts[0].function_response.response' (type.googleapis.com/google.protobuf.Struct), \"Rain\"",
    ],
    [
      "a response without a name",
      said(user, call, { role: "user", parts: [{ functionResponse: { response: {} } }] }),
      "function_response.name: Name cannot be empty.",
    ],
    [
      "arguments that are text",
      said(user, { role: "model", parts: [{ functionCall: { name: "f", args: "{}" } }] }, answer),
      "function_call.args' (type.googleapis.com/google.protobuf.Struct)",
    ],
    [
      "a function's name that begins with a digit",
      { tools: [{ functionDeclarations: [{ name: "1st" }] }] },
      "Invalid function name.",
    ],
    [
      "two functions of one name",
      { tools: [{ functionDeclarations: [weather, weather] }] },
      "Duplicate function declaration found: get_weather",
    ],
    [
      "a whole schema in the older field",
      {
        tools: [
          {
            functionDeclarations: [
              {
                name: "f",
                parameters: {
                  type: "object",
                  properties: { a: { type: "string" } },
                  additionalProperties: false,
                },
              },
            ],
          },
        ],
      },
      "Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters': Cannot find field.",
    ],
    [
      "an object without properties in the older field",
      { tools: [{ functionDeclarations: [{ name: "f", parameters: { type: "OBJECT" } }] }] },
      "should be non-empty for OBJECT type",
    ],
    [
      "an empty tool",
      { tools: [{}] },
      "required one_of 'tool_type' must have one initialized field",
    ],
    [
      "a choice without functions",
      { toolConfig: { functionCallingConfig: { mode: "ANY" } } },
      "Function calling config is set without function_declarations.",
    ],
    [
      "names allowed without ANY",
      {
        tools,
        toolConfig: {
          functionCallingConfig: { mode: "AUTO", allowedFunctionNames: ["get_weather"] },
        },
      },
      "Allowed function names should be set only when function calling mode is ANY.",
    ],
    [
      "a name allowed that is not there",
      {
        tools,
        toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["other"] } },
      },
      "not declared: other",
    ],
    [
      "an unknown mode",
      { tools, toolConfig: { functionCallingConfig: { mode: "REQUIRED" } } },
      "Invalid value at 'tool_config.function_calling_config.mode'",
    ],
  ])("%s", (_, changes, message) => expectRefused(changes, message));

  it("asks for signatures only in the turn that runs", async () => {
    const reply = await ask(
      said(user, call, answer, { role: "model", parts: [{ text: "Wet." }] }, user),
      "gemini-3-pro",
    );
    expect(reply.status).toBe(200);
  });

  it("names the field in its details", async () => {
    const { body } = await ask(config({ top_q: 1 }));
    expect(body).toMatchObject({
      error: {
        details: [
          {
            "@type": "type.googleapis.com/google.rpc.BadRequest",
            fieldViolations: [{ field: "generation_config" }],
          },
        ],
      },
    });
  });

  it("no key, a wrong one, one in the address, another media type, no JSON", async () => {
    const url = `${simulator.url}/v1beta/models/gemini-2.5-flash:generateContent`;
    const body = { contents: [user] };
    expect(await postJson(url, body)).toMatchObject({
      status: 403,
      body: { error: { status: "PERMISSION_DENIED" } },
    });
    expect(await ask({}, undefined, { "x-goog-api-key": "other" })).toMatchObject({
      status: 400,
      body: { error: { details: [{ reason: "API_KEY_INVALID" }, {}] } },
    });
    const inAddress = await postJson(`${url}?key=${KEY}`, body, { "x-goog-api-key": KEY });
    expect(inAddress.status).toBe(400);
    expect(inAddress.text).toContain("accepts no API key in the URL");
    expect((await ask({}, undefined, { "content-type": "text/plain" })).status).toBe(400);
    const broken = await postJson(url, "{", { "x-goog-api-key": KEY });
    expect(broken.text).toContain("Invalid JSON payload received.");
  });

  it("a model or a verb that is not there", async () => {
    const unknown = await ask({}, "gemini-9");
    expect(unknown).toMatchObject({ status: 404, body: { error: { status: "NOT_FOUND" } } });
    expect(unknown.text).toContain("models/gemini-9 is not found for API version v1beta");
    const url = `${simulator.url}/v1beta/models/gemini-2.5-flash:dream`;
    expect((await postJson(url, {}, { "x-goog-api-key": KEY })).status).toBe(404);
  });

  it("more than the context holds", async () => {
    const small = await startSimulator({
      engine: "gemini",
      models: [{ name: "gemini-2.5-flash", contextLength: 20, capabilities: ["completion"] }],
    });
    const url = `${small.url}/v1beta/models/gemini-2.5-flash:generateContent`;
    const contents = [{ parts: [{ text: "word ".repeat(40) }] }];
    const { text } = await postJson(url, { contents }, { "x-goog-api-key": "x" });
    expect(text).toMatch(
      /The input token count \(\d+\) exceeds the maximum number of tokens allowed \(20\)\./,
    );
    await small.stop();
  });
});
