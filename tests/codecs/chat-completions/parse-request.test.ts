import { describe, expect, it } from "vitest";
import { chatCompletionsClient } from "../../../src/codecs/chat-completions/client.ts";
import { chatCompletionRequestSchema } from "../../../src/codecs/chat-completions/server/wire.ts";
import { chatCompletionsServer } from "../../../src/codecs/chat-completions/server.ts";
import { ServiceError } from "../../../src/core/service-error.ts";
import { readSharedFixtures } from "../../support/shared-fixtures.ts";

const read = (body: unknown) => chatCompletionsServer.parse(body, "");
const parse = (body: unknown) => read(body).request;
const USER = { role: "user", content: "Hi" };
const IMAGE = "iVBORw0KGgo=";

const withField = (fields: object) => parse({ messages: [USER], ...fields });
const withMessage = (message: object) => parse({ messages: [message] }).messages[0];

function faultOf(body: unknown): ServiceError {
  try {
    parse(body);
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error(`${JSON.stringify(body)} was taken`);
}

describe("a request", () => {
  it("needs nothing but messages", () => {
    expect(parse({ messages: [USER] })).toEqual({
      messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
      tools: [],
      parameters: {},
      stream: false,
    });
    expect(read({ messages: [USER] }).form).toEqual({ includeUsage: false });
  });

  it("may say null for every optional field", () => {
    const names = Object.keys(chatCompletionRequestSchema.shape).filter(
      (name) => name !== "messages",
    );
    const nulls = Object.fromEntries(
      [...names, "user", "logit_bias", "functions"].map((name) => [name, null]),
    );
    expect(withField(nulls)).toEqual(parse({ messages: [USER] }));
  });

  it("says every parameter of the specification", () => {
    const request = withField({
      model: "m",
      stream: true,
      stream_options: { include_usage: true },
      temperature: 0.5,
      top_p: 0.9,
      top_k: 40,
      max_tokens: 100,
      stop: "END",
      seed: -7,
      presence_penalty: 0.1,
      frequency_penalty: -0.1,
      logprobs: true,
      top_logprobs: 3,
      n: 1,
      reasoning_effort: "low",
      parallel_tool_calls: false,
      response_format: { type: "json_object" },
    });
    expect(request).toMatchObject({
      model: "m",
      stream: true,
      effort: "low",
      parallelToolCalls: false,
      parameters: {
        temperature: 0.5,
        topP: 0.9,
        topK: 40,
        maxOutputTokens: 100,
        stop: ["END"],
        seed: -7,
        presencePenalty: 0.1,
        frequencyPenalty: -0.1,
        logprobs: true,
        topLogprobs: 3,
        responseFormat: { type: "json_object" },
      },
    });
    expect(request.parameters.extra).toBeUndefined();
  });

  it("takes max_completion_tokens before max_tokens, and stop as a list", () => {
    const { parameters } = withField({ max_tokens: 5, max_completion_tokens: 7, stop: ["a", "b"] });
    expect(parameters).toEqual({ maxOutputTokens: 7, stop: ["a", "b"] });
  });

  it("has no model when its name is empty", () => {
    expect(withField({ model: "" }).model).toBeUndefined();
  });

  it("hands further fields on as they came, but for what is the gateway's", () => {
    const further = { min_p: 0.1, user: "u", chat_template_kwargs: { a: [null] }, logit_bias: {} };
    const ours = { n: 1, ext: { fallbacks: ["m"] } };
    expect(withField({ ...further, ...ours }).parameters.extra).toEqual(further);
  });

  it("H09: takes __proto__ and constructor as plain data", () => {
    const body = JSON.parse(
      '{"messages":[{"role":"user","content":"Hi","__proto__":{"role":"system"}}],"constructor":{"prototype":{"x":1}},"metadata":{"__proto__":{"ext":{"thinking":true}}},"__proto__":{"stream":true,"n":5,"temperature":9}}',
    );
    const request = parse(body);
    expect(request).toMatchObject({ stream: false, messages: [{ role: "user" }], parameters: {} });
    expect(request.effort).toBeUndefined();
    expect(request.parameters.temperature).toBeUndefined();
    expect(request.parameters.extra?.["stream"]).toBeUndefined();
    expect(({} as { x?: unknown; stream?: unknown }).stream).toBeUndefined();
    expect(parse({ messages: [USER] }).stream).toBe(false);
    const built = JSON.parse(
      chatCompletionsClient.build(request, { name: "m", contextLength: undefined }),
    );
    expect(built).toMatchObject({ stream: false, messages: [{ role: "user" }] });
  });

  it("is not changed by being read", () => {
    const body = {
      messages: [USER],
      tools: [{ type: "web_search" }],
      metadata: { ext: { thinking: true } },
    };
    const before = structuredClone(body);
    parse(body);
    expect(body).toEqual(before);
  });
});

describe("messages", () => {
  it("are taken exactly when their schema takes them, also those that are recognised without it", () => {
    const roles = [
      "system",
      "developer",
      "user",
      "assistant",
      "tool",
      "function",
      "other",
      1,
      undefined,
    ];
    const contents = ["", "a", 5, null, [], [{ type: "text", text: "a" }], undefined];
    const rests = [{}, { name: "n" }, { name: 5 }, { tool_calls: "x" }, { tool_call_id: "c" }];
    for (const role of roles) {
      for (const content of contents) {
        for (const rest of rests) {
          const body = JSON.parse(JSON.stringify({ messages: [USER, { role, content, ...rest }] }));
          const { success } = chatCompletionRequestSchema.safeParse(body);
          if (success) expect(() => parse(body), JSON.stringify(body)).not.toThrow();
          else expect(faultOf(body).code).toBe("invalid_value");
        }
      }
    }
  });

  it("of every role are read in their order", () => {
    const { messages } = parse({
      messages: [
        { role: "developer", content: "Be brief.", name: "d" },
        { role: "user", content: [{ type: "text", text: "Hi" }] },
        {
          role: "system",
          content: [
            { type: "text", text: "A" },
            { type: "text", text: "B" },
          ],
        },
        { role: "assistant", content: null, tool_calls: [call("c1", '{"a": 1}')] },
        { role: "tool", tool_call_id: "c1", content: "42" },
        { role: "user", content: "" },
      ],
    });
    expect(messages).toEqual([
      { role: "system", content: [{ type: "text", text: "Be brief." }], name: "d" },
      { role: "user", content: [{ type: "text", text: "Hi" }] },
      {
        role: "system",
        content: [
          { type: "text", text: "A" },
          { type: "text", text: "B" },
        ],
      },
      {
        role: "assistant",
        content: [{ type: "tool-call", callId: "c1", name: "f", arguments: '{"a": 1}' }],
      },
      { role: "tool", callId: "c1", content: [{ type: "text", text: "42" }] },
      { role: "user", content: [] },
    ]);
  });

  it("of the form before tools are calls and their results, paired by the function's name", () => {
    const called = (name: string) => ({ name, arguments: `{"of":"${name}"}` });
    const result = (name: string, content: string | null) => ({ role: "function", name, content });
    const { messages } = parse({
      messages: [
        { role: "assistant", content: null, function_call: called("f") },
        result("f", "1"),
        { role: "assistant", content: "Again.", function_call: called("f") },
        result("f", "2"),
        result("g", null),
      ],
    });
    const asked = (callId: string) => ({
      type: "tool-call",
      callId,
      name: "f",
      arguments: '{"of":"f"}',
    });
    const text = (said: string) => ({ type: "text", text: said });
    expect(messages).toEqual([
      { role: "assistant", content: [asked("call_function_0")] },
      { role: "tool", callId: "call_function_0", content: [text("1")] },
      { role: "assistant", content: [text("Again."), asked("call_function_2")] },
      { role: "tool", callId: "call_function_2", content: [text("2")] },
      { role: "tool", callId: "call_function_4", content: [] },
    ]);
  });

  it("of the form before tools may be many, each of which is read once", () => {
    // Searched for from the end, each call would be found after all the results behind it.
    const results = Array.from({ length: 99_000 }, () => ({
      ...{ role: "function", name: "f", content: "x" },
    }));
    const { messages } = parse({ messages: results });
    expect(messages.at(-1)).toMatchObject({ callId: "call_function_98999" });
  });

  it("of the assistant may hold what it thought as parts, in their order", () => {
    const thinking = [
      { type: "text", text: "Let me " },
      { type: "reference", reference_ids: [1] },
      { type: "text", text: "see." },
    ];
    const content = [
      { type: "thinking", thinking, closed: true },
      { type: "text", text: "Yes." },
      { type: "thinking", thinking: "More." },
      { type: "thinking", thinking: [] },
    ];
    expect(withMessage({ role: "assistant", content })).toEqual({
      role: "assistant",
      content: [
        { type: "reasoning", text: "Let me see." },
        { type: "text", text: "Yes." },
        { type: "reasoning", text: "More." },
      ],
    });
  });

  it("of the assistant keep thought, text, refusal and calls", () => {
    const text = ' {"a" :1e2, "b":"\\u00fc"} ';
    expect(
      withMessage({
        role: "assistant",
        content: [
          { type: "text", text: "A" },
          { type: "refusal", refusal: "No." },
        ],
        refusal: "Never.",
        reasoning_content: "Hm",
        tool_calls: [call("c1", text), call("c2", { a: 1 }), call("c3", null)],
        annotations: [],
        audio: null,
        function_call: null,
      }),
    ).toEqual({
      role: "assistant",
      content: [
        { type: "reasoning", text: "Hm" },
        { type: "text", text: "A" },
        { type: "refusal", text: "No." },
        { type: "refusal", text: "Never." },
        { type: "tool-call", callId: "c1", name: "f", arguments: text },
        { type: "tool-call", callId: "c2", name: "f", arguments: '{"a":1}' },
        { type: "tool-call", callId: "c3", name: "f", arguments: "" },
      ],
    });
    expect(withMessage({ role: "assistant", reasoning: "Hm" })).toEqual({
      role: "assistant",
      content: [{ type: "reasoning", text: "Hm" }],
    });
  });

  it("of the assistant may hold calls of custom tools, as the responses format reads them", () => {
    const custom = { id: "c1", type: "custom", custom: { name: "patch", input: 'a\n"b"' } };
    expect(withMessage({ role: "assistant", tool_calls: [custom, call("c2", "{}")] })).toEqual({
      role: "assistant",
      content: [
        {
          ...{ type: "tool-call", callId: "c1", name: "patch" },
          arguments: '{"input":"a\\n\\"b\\""}',
        },
        { type: "tool-call", callId: "c2", name: "f", arguments: "{}" },
      ],
    });
  });

  it.each([null, "", [], undefined])(
    "of the assistant and of tools may have the content %j",
    (content) => {
      expect(withMessage({ role: "assistant", content })).toEqual({
        role: "assistant",
        content: [],
      });
      expect(withMessage({ role: "tool", tool_call_id: "c", content })).toMatchObject({
        content: [],
      });
    },
  );

  it.each([
    ["https://a.example/b.png", { kind: "url", url: "https://a.example/b.png" }],
    [`data:image/png;base64,${IMAGE}`, { kind: "base64", mediaType: "image/png", data: IMAGE }],
    [`DATA:IMAGE/PNG;Base64,${IMAGE}`, { kind: "base64", mediaType: "image/png", data: IMAGE }],
    [`data:image/png,${IMAGE}`, { kind: "base64", mediaType: "image/png", data: IMAGE }],
    [
      `data:image/svg+xml;charset=utf-8;base64,${IMAGE}`,
      { kind: "base64", mediaType: "image/svg+xml", data: IMAGE },
    ],
  ])("may hold the image %s", (url, source) => {
    const image_url = { url, detail: "low" };
    expect(
      withMessage({ role: "user", content: [{ type: "image_url", image_url }] }),
    ).toMatchObject({
      content: [{ type: "image", source, detail: "low" }],
    });
    expect(
      withMessage({
        role: "tool",
        tool_call_id: "c",
        content: [{ type: "image_url", image_url: url }],
      }),
    ).toMatchObject({ content: [{ type: "image", source }] });
  });

  it.each([
    "file:///etc/passwd",
    "ftp://a/b",
    "data:text/html;base64,AAAA",
    "data:image/png,%89PNG",
    "data:",
    "x",
  ])("may not hold the image %s", (url) => {
    const content = [
      { type: "text", text: "a" },
      { type: "image_url", image_url: { url } },
    ];
    expect(faultOf({ messages: [{ role: "user", content }] })).toMatchObject({
      code: "invalid_value",
      param: "messages[0].content[1].image_url.url",
    });
  });

  it("may hold a file, which is a document, and the text of a plain one", () => {
    const file = (fields: object) =>
      withMessage({ role: "user", content: [{ type: "file", file: fields }] });
    const pdf = { kind: "base64", mediaType: "application/pdf", data: "JVBERi0=" };
    const at = "messages[0].content[0]";
    expect(file({ file_data: "data:application/pdf;base64,JVBERi0=", filename: "a.pdf" })).toEqual({
      role: "user",
      content: [{ type: "document", source: pdf, title: "a.pdf", at }],
    });
    expect(file({ file_data: "https://a.example/b.pdf", file_id: null })).toEqual({
      role: "user",
      content: [{ type: "document", source: { kind: "url", url: "https://a.example/b.pdf" }, at }],
    });
    expect(file({ file_data: "data:text/csv;base64,YSzDvA==", filename: "t.csv" })).toEqual({
      role: "user",
      content: [{ type: "text", text: "t.csv:\n\na,ü" }],
    });
    const result = { type: "file", file: { file_data: "data:application/pdf;base64,JVBERi0=" } };
    expect(withMessage({ role: "tool", tool_call_id: "c", content: [result] })).toMatchObject({
      content: [{ type: "document", source: pdf }],
    });
  });

  it("may hold audio", () => {
    const content = [{ type: "input_audio", input_audio: { data: "AAAA", format: "wav" } }];
    expect(withMessage({ role: "user", content })).toMatchObject({
      content: [{ type: "audio", data: "AAAA", format: "wav" }],
    });
  });
});

describe("effort", () => {
  it.each([
    [{ reasoning_effort: "none" }, "none"],
    [{ reasoning_effort: "minimal" }, "low"],
    [{ reasoning_effort: "xhigh" }, "max"],
    [{ metadata: { ext: { thinking: true } } }, "high"],
    [{ metadata: { ext: { thinking: false } }, reasoning_effort: "max" }, "none"],
    [{ metadata: { ext: { thinking: "medium" } }, reasoning_effort: "max" }, "medium"],
    [{ metadata: { service: { thinking: true } } }, "high"],
    [{ metadata: { service: { thinking: true }, ext: { thinking: "low" } } }, "low"],
    [{ metadata: { ext: { thinking: null } }, reasoning_effort: "low" }, "low"],
    [{ metadata: { service: "billing" } }, undefined],
    [{ reasoning_effort: "default" }, undefined],
    [{ metadata: { ext: { thinking: "default" } }, reasoning_effort: "low" }, "low"],
  ])("of %j is %s", (fields, effort) => {
    expect(withField(fields).effort).toBe(effort);
  });

  it("and the gateway's other settings stay out of what the engine gets", () => {
    const metadata = { ext: { tools_scope: ["a"] }, service: {}, team: "x" };
    const request = withField({ metadata });
    expect(request.toolsScope).toEqual(["a"]);
    expect(request.parameters.extra).toEqual({ metadata: { team: "x" } });
  });
});

describe("fallbacks", () => {
  it("are the models to try, and none of the engine's business", () => {
    const ext = { fallbacks: ["a", "b"], other: 1 };
    expect(withField({ ext })).toMatchObject({ fallbacks: ["a", "b"], parameters: {} });
    expect(withField({ ext }).parameters.extra).toBeUndefined();
    expect(withField({ ext: { fallbacks: Array(8).fill("a") } }).fallbacks).toHaveLength(8);
    expect(withField({ ext: {} }).fallbacks).toBeUndefined();
    expect(withField({ ext: { fallbacks: null } }).fallbacks).toBeUndefined();
  });
});

describe("tools", () => {
  const nested = {
    type: "function",
    function: { name: "f", description: "d", parameters: { type: "object" }, strict: true },
  };
  const flat = { type: "function", name: "g", parameters: null };

  it("are read nested and flat; types that only their vendor has are dropped", () => {
    const others = [
      { type: "web_search" },
      { type: "custom", custom: { name: "c" } },
      { type: "namespace", name: 3 },
    ];
    expect(withField({ tools: [nested, ...others, flat] }).tools).toEqual([
      { name: "f", description: "d", parameters: { type: "object" }, strict: true },
      { name: "g" },
    ]);
  });

  it("none are the same as no word of tools", () => {
    expect(withField({ tools: [], tool_choice: "required" })).toEqual(parse({ messages: [USER] }));
    expect(
      withField({ tools: [{ type: "web_search" }], tool_choice: "auto" }).toolChoice,
    ).toBeUndefined();
  });

  it.each([
    ["auto", { type: "auto" }],
    ["none", { type: "none" }],
    ["required", { type: "required" }],
    ["any", { type: "required" }],
    [{ type: "auto" }, { type: "auto" }],
    [
      { type: "function", function: { name: "g" } },
      { type: "tool", name: "g" },
    ],
    [
      { type: "function", name: "g" },
      { type: "tool", name: "g" },
    ],
    [{ type: "custom", custom: { name: "c" } }, undefined],
  ])("may be chosen by %j", (tool_choice, expected) => {
    expect(withField({ tools: [nested, flat], tool_choice }).toolChoice).toEqual(expected);
  });

  it("may be narrowed to some", () => {
    const allowed_tools = {
      mode: "required",
      tools: [{ type: "function", function: { name: "g" } }],
    };
    const request = withField({
      tools: [nested, flat],
      tool_choice: { type: "allowed_tools", allowed_tools },
    });
    expect(request).toMatchObject({ tools: [{ name: "g" }], toolChoice: { type: "required" } });
  });
});

describe("response formats", () => {
  it("are read; those of one engine alone go on to it as they are", () => {
    const format = (response_format: object) => withField({ response_format }).parameters;
    expect(format({ type: "text" })).toEqual({ responseFormat: { type: "text" } });
    const json_schema = { name: "n", schema: { type: "object" }, strict: true, description: null };
    expect(format({ type: "json_schema", json_schema })).toEqual({
      responseFormat: { type: "json_schema", name: "n", schema: { type: "object" }, strict: true },
    });
    for (const own of [
      { type: "structural_tag", structures: [] },
      { type: "json_object", schema: {} },
    ]) {
      expect(format(own)).toEqual({ extra: { response_format: own } });
    }
  });
});

describe("each wrong field is a 400 that names it", () => {
  const message = (fields: object) => ({ messages: [fields] });
  const part = (fields: object) =>
    message({ role: "user", content: [{ type: "text", text: "a" }, fields] });
  const tool = (fields: object) => ({
    messages: [USER],
    tools: [{ type: "function", function: fields }],
  });

  it.each([
    [null, undefined],
    [[], undefined],
    ["x", undefined],
    [1, undefined],
    [{}, "messages"],
    [{ messages: "x" }, "messages"],
    [{ messages: [] }, "messages"],
    [{ messages: [3] }, "messages[0]"],
    [message({ content: "x" }), "messages[0].role"],
    [message({ role: "bot", content: "x" }), "messages[0].role"],
    [message({ role: "function", content: "x" }), "messages[0].name"],
    [message({ role: "user" }), "messages[0].content"],
    [message({ role: "user", content: null }), "messages[0].content"],
    [message({ role: "user", content: [] }), "messages[0].content"],
    [message({ role: "user", content: 5 }), "messages[0].content"],
    [message({ role: "system", content: { text: "x" } }), "messages[0].content"],
    [message({ role: "tool", content: "x" }), "messages[0].tool_call_id"],
    [message({ role: "user", content: "x", name: 1 }), "messages[0].name"],
    [part({ type: "video", video: {} }), "messages[0].content[1].type"],
    [part({ type: "file" }), "messages[0].content[1].file"],
    [part({ type: "file", file: {} }), "messages[0].content[1].file.file_data"],
    [
      part({ type: "file", file: { file_data: "data:image/png;base64,AAAA" } }),
      "messages[0].content[1].file.file_data",
    ],
    [
      part({ type: "file", file: { file_data: "data:text/plain;base64,/w==" } }),
      "messages[0].content[1].file.file_data",
    ],
    [part({ text: "x" }), "messages[0].content[1].type"],
    [part({ type: "text" }), "messages[0].content[1].text"],
    [part({ type: "image_url" }), "messages[0].content[1].image_url"],
    [part({ type: "image_url", image_url: {} }), "messages[0].content[1].image_url.url"],
    [
      part({ type: "input_audio", input_audio: { data: 1, format: "wav" } }),
      "messages[0].content[1].input_audio.data",
    ],
    [
      message({ role: "assistant", content: [{ type: "image_url" }] }),
      "messages[0].content[0].type",
    ],
    [message({ role: "assistant", tool_calls: {} }), "messages[0].tool_calls"],
    [
      message({ role: "assistant", tool_calls: [{ id: "c" }] }),
      "messages[0].tool_calls[0].function",
    ],
    [
      message({ role: "assistant", tool_calls: [call("c", 5)] }),
      "messages[0].tool_calls[0].function.arguments",
    ],
    [
      message({ role: "assistant", tool_calls: [{ id: "c", type: "custom" }] }),
      "messages[0].tool_calls[0].custom",
    ],
    [
      message({ role: "assistant", tool_calls: [{ ...call("c", "{}"), type: "other" }] }),
      "messages[0].tool_calls[0].type",
    ],
    [
      message({ role: "assistant", function_call: { name: "f" } }),
      "messages[0].function_call.arguments",
    ],
    ...Object.entries({
      model: 5,
      stream: "true",
      temperature: "hot",
      top_p: 2,
      top_k: 1.5,
      max_tokens: -1,
      max_completion_tokens: "5",
      stop: [1],
      seed: 0.5,
      presence_penalty: [],
      frequency_penalty: {},
      logprobs: 1,
      top_logprobs: -1,
      n: "1",
      reasoning_effort: "huge",
      parallel_tool_calls: "no",
      response_format: "json",
      tools: {},
      metadata: "x",
      stream_options: true,
    }).map(([name, value]) => [
      { messages: [USER], [name]: value },
      name === "stop" ? "stop[0]" : name,
    ]),
    [{ messages: [USER], temperature: -0.1 }, "temperature"],
    [{ messages: [USER], temperature: Number.POSITIVE_INFINITY }, "temperature"],
    [{ messages: [USER], stream_options: { include_usage: 1 } }, "stream_options.include_usage"],
    [{ messages: [USER], reasoning_effort: true }, "reasoning_effort"],
    [{ messages: [USER], metadata: { ext: { thinking: 1 } } }, "metadata.ext.thinking"],
    [{ messages: [USER], metadata: { ext: { thinking: "huge" } } }, "metadata.ext.thinking"],
    [
      { messages: [USER], metadata: { service: { thinking: "huge" } } },
      "metadata.service.thinking",
    ],
    [{ messages: [USER], metadata: { ext: { tools_scope: "a" } } }, "metadata.ext.tools_scope"],
    [{ messages: [USER], ext: "x" }, "ext"],
    [{ messages: [USER], ext: { fallbacks: "x" } }, "ext.fallbacks"],
    [{ messages: [USER], ext: { fallbacks: ["a", 1] } }, "ext.fallbacks[1]"],
    [{ messages: [USER], ext: { fallbacks: Array(9).fill("a") } }, "ext.fallbacks"],
    [{ messages: [USER], response_format: { type: "json_schema" } }, "response_format.json_schema"],
    [
      { messages: [USER], response_format: { type: "json_schema", json_schema: {} } },
      "response_format.json_schema.name",
    ],
    [{ messages: [USER], tools: ["x"] }, "tools[0]"],
    [{ messages: [USER], tools: [{ type: "function" }] }, "tools[0].name"],
    [tool({}), "tools[0].function.name"],
    [tool({ name: "" }), "tools[0].function.name"],
    [tool({ name: "f", parameters: "x" }), "tools[0].function.parameters"],
    [{ ...tool({ name: "f" }), tool_choice: "always" }, "tool_choice"],
    [{ ...tool({ name: "f" }), tool_choice: 5 }, "tool_choice"],
    [
      { ...tool({ name: "f" }), tool_choice: { type: "function", function: { name: "g" } } },
      "tool_choice",
    ],
    [
      { ...tool({ name: "f" }), tool_choice: { type: "allowed_tools" } },
      "tool_choice.allowed_tools.tools",
    ],
  ] as [unknown, string | undefined][])("%j", (body, param) => {
    const fault = faultOf(body);
    expect(fault).toMatchObject({ code: "invalid_value", status: 400, param });
    expect(fault.message).toMatch(/expected .+, received .+\.$/);
  });

  it("a file that is stored elsewhere, and a body of another format, with what to do instead", () => {
    const stored = faultOf(part({ type: "file", file: { file_id: "file-1" } }));
    expect(stored).toMatchObject({
      code: "unsupported_parameter",
      param: "messages[0].content[1].file.file_id",
    });
    expect(stored.message).toContain("'file_data'");
    for (const input of ["Hi", [USER]]) {
      const fault = faultOf({ model: "m", input, tools: [] });
      expect(fault).toMatchObject({ code: "unsupported_parameter", status: 400, param: "input" });
      expect(fault.message).toContain("/v1/responses");
    }
    expect(faultOf({ model: "m" }).param).toBe("messages");
  });

  it.each([
    [{ n: 2 }, "n"],
    [{ n: 0 }, "n"],
    [{ functions: [{ name: "f" }] }, "functions"],
    [{ function_call: "auto" }, "function_call"],
  ])("%j is not supported", (fields, param) => {
    expect(faultOf({ messages: [USER], ...fields })).toMatchObject({
      code: "unsupported_parameter",
      param,
    });
  });

  it.each([
    ["messages", Array(200_000).fill(1)],
    ["tools", Array(200_000).fill(1)],
    ["stop", Array(200_000).fill(1)],
    ["messages", Array(1000).fill({ role: "user", content: Array(1000).fill(1) })],
    ["metadata", { ext: { tools_scope: Array(200_000).fill(1) } }],
  ])("too many items in %s", (name, value) => {
    const fault = faultOf({ messages: [USER], [name]: value });
    expect(fault).toMatchObject({ code: "invalid_value", param: name });
    expect(fault.message).toContain("at most 100000 items");
  });

  it("and says what was expected and what came, but no more than the beginning of it", () => {
    expect(faultOf({ messages: [{ role: "bot" }] }).message).toBe(
      `'messages[0].role' is invalid: expected one of "system", "developer", "user", "assistant", "tool", "function", received the string "bot".`,
    );
    expect(faultOf({ messages: [USER], stop: 3 }).message).toContain(
      "expected a string or an array, received the number 3",
    );
    expect(faultOf({ messages: [{ role: "x".repeat(9999) }] }).message.length).toBeLessThan(300);
  });
});

const recorded = readSharedFixtures(["clients"], ".json").filter(({ name }) =>
  name.includes("-chat-"),
);

if (recorded.length > 0) {
  describe("the requests of real clients", () => {
    it.each(recorded)("$name reaches an engine with nothing lost", ({ bytes }) => {
      const { body } = JSON.parse(new TextDecoder().decode(bytes));
      const request = parse(body);
      const built = JSON.parse(
        chatCompletionsClient.build(request, { name: "mock-model", contextLength: undefined }),
      );
      expect(built.stream_options).toEqual({ include_usage: true });
      const messages = body.messages.map(
        (message: { role: string; content: unknown; tool_calls?: unknown }) => ({
          ...message,
          // An empty text beside tool calls says as little as none.
          content: message.tool_calls !== undefined ? message.content || null : message.content,
        }),
      );
      expect(built).toEqual({ ...body, messages });
    });
  });
}

function call(id: string, text: unknown): object {
  return { id, type: "function", function: { name: "f", arguments: text } };
}

describe("what OpenAI takes beside it", () => {
  it("is functions that may not be called", () => {
    const functions = [{ name: "f", description: "D", parameters: { type: "object" } }];
    const request = withField({ functions, function_call: "none" });
    expect(request).toMatchObject({ tools: functions, toolChoice: { type: "none" } });
    expect(request.parameters.extra).toBeUndefined();
    expect(withField({ function_call: "none" }).tools).toEqual([]);
    for (const fields of [{ functions }, { functions, function_call: "auto" }]) {
      expect(() => withField(fields)).toThrow(
        expect.objectContaining({ code: "unsupported_parameter" }),
      );
    }
  });

  it("is a limit of 0: the engine is asked for the least it can answer", () => {
    for (const fields of [{ max_tokens: 0 }, { max_completion_tokens: 0, max_tokens: 9 }]) {
      expect(withField(fields).parameters.maxOutputTokens).toBe(1);
    }
  });
});
