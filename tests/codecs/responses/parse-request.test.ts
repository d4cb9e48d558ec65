import { describe, expect, it } from "vitest";
import { sealThought } from "../../../src/codecs/responses/server/items/reasoning-seal.ts";
import { responsesServer } from "../../../src/codecs/responses/server.ts";
import type { ChatRequest } from "../../../src/core/chat/chat-request.ts";

const parse = (body: object) => responsesServer.parse({ input: "Hi", ...body }, "");
const requestOf = (body: object): ChatRequest => parse(body).request;
const repeatedOf = (body: object) => parse(body).form.repeated;
const messagesOf = (input: unknown, more: object = {}) => requestOf({ input, ...more }).messages;
const text = (said: string) => ({ type: "text", text: said });
const call = (callId: string, name: string, said: string) => ({
  type: "tool-call",
  callId,
  name,
  arguments: said,
});

const PNG = "iVBORw0KGgo=";

describe("input", () => {
  it("is a question, or messages with and without their type", () => {
    expect(messagesOf("Hello")).toEqual([{ role: "user", content: [text("Hello")] }]);
    expect(
      messagesOf([
        { role: "system", content: "A" },
        { type: "message", role: "developer", content: [{ type: "input_text", text: "B" }] },
        { id: "msg_1", role: "user", content: [{ type: "input_text", text: "C" }], status: null },
        { role: "assistant", content: [{ type: "output_text", text: "D", annotations: [] }] },
        { role: "user", content: "E" },
        { role: "assistant", content: [{ type: "refusal", refusal: "F" }], phase: "final_answer" },
      ]),
    ).toEqual([
      { role: "system", content: [text("A")] },
      { role: "system", content: [text("B")] },
      { role: "user", content: [text("C")] },
      { role: "assistant", content: [text("D")] },
      { role: "user", content: [text("E")] },
      { role: "assistant", content: [{ type: "refusal", text: "F" }] },
    ]);
  });

  it("begins with the instructions, where there are some", () => {
    const roles = (more: object) => messagesOf("Hi", more).map(({ role }) => role);
    expect(messagesOf("Hi", { instructions: "Be brief." })[0]).toEqual({
      role: "system",
      content: [text("Be brief.")],
    });
    for (const instructions of [undefined, null, ""])
      expect(roles({ instructions })).toEqual(["user"]);
  });

  it("takes images, files and audio, and says where they stood", () => {
    const content = [
      { type: "input_text", text: "Look" },
      { type: "input_image", image_url: `data:image/PNG;base64,${PNG}`, detail: "low" },
      { type: "input_image", image_url: "https://example.com/a.png" },
      { type: "input_file", file_data: "data:application/pdf;base64,QQ==", filename: "a.pdf" },
      { type: "input_file", file_url: "https://example.com/a.pdf" },
      { type: "input_file", file_data: "data:text/plain;base64,R3LDvMOfZQ==", filename: "a.txt" },
      { type: "input_audio", input_audio: { data: "QQ==", format: "wav" } },
    ];
    const at = (index: number) => `input[0].content[${index}]`;
    expect(messagesOf([{ role: "user", content }])[0]?.content).toEqual([
      text("Look"),
      {
        type: "image",
        source: { kind: "base64", mediaType: "image/png", data: PNG },
        detail: "low",
        at: at(1),
      },
      { type: "image", source: { kind: "url", url: "https://example.com/a.png" }, at: at(2) },
      {
        type: "document",
        source: { kind: "base64", mediaType: "application/pdf", data: "QQ==" },
        title: "a.pdf",
        at: at(3),
      },
      { type: "document", source: { kind: "url", url: "https://example.com/a.pdf" }, at: at(4) },
      text("a.txt:\n\nGrüße"),
      { type: "audio", data: "QQ==", format: "wav", at: at(6) },
    ]);
  });

  it("makes one turn of what the model thought, said and called in a row", () => {
    const odd = '{ "a":1.0e0, "b":12345678901234567890 }';
    expect(
      messagesOf([
        { role: "user", content: "Go" },
        { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Hm" }] },
        { role: "assistant", content: "Let me look." },
        { type: "function_call", call_id: "c1", name: "f", arguments: odd, status: "completed" },
        { type: "function_call", call_id: "c2", name: "g", arguments: "" },
        { type: "function_call_output", call_id: "c1", output: "one" },
        {
          type: "function_call_output",
          call_id: "c2",
          output: [
            { type: "input_text", text: "two" },
            { type: "input_image", image_url: `data:image/png;base64,${PNG}` },
          ],
        },
        { type: "function_call", call_id: "c3", name: "f", arguments: "{}" },
      ]),
    ).toEqual([
      { role: "user", content: [text("Go")] },
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "Hm" },
          text("Let me look."),
          call("c1", "f", odd),
          call("c2", "g", ""),
        ],
      },
      { role: "tool", callId: "c1", content: [text("one")] },
      {
        role: "tool",
        callId: "c2",
        content: [
          text("two"),
          {
            type: "image",
            source: { kind: "base64", mediaType: "image/png", data: PNG },
            at: "input[6].output[1]",
          },
        ],
      },
      { role: "assistant", content: [call("c3", "f", "{}")] },
    ]);
  });

  it("leaves out items that only their vendor understands", () => {
    const others = [
      { type: "web_search_call", id: "ws_1", status: "completed" },
      { type: "compaction", encrypted_content: "x" },
      { type: "local_shell_call_output", call_id: 5 },
      { type: "something_new" },
    ];
    expect(messagesOf([...others, { role: "user", content: "Hi" }])).toHaveLength(1);
  });
});

describe("reasoning", () => {
  const thoughtsOf = (item: object) =>
    messagesOf([
      { type: "reasoning", ...item },
      { role: "user", content: "Hi" },
    ])[0];
  const part = (thought: object) => ({
    role: "assistant",
    content: [{ type: "reasoning", ...thought }],
  });
  const summary = [{ type: "summary_text", text: "short" }];

  it.each([
    { text: "Grüße 👋 \ud800\n", signature: "EqoB/+==" },
    { text: "", redacted: "EmwKAh==" },
    { text: "sum", redacted: "openai.gAAAA-_" },
    { text: "plain" },
    { text: "x".repeat(100_000), signature: "s" },
  ])("comes back from its seal as it was: %j", (thought) => {
    expect(thoughtsOf({ summary, encrypted_content: sealThought(thought) })).toEqual(part(thought));
  });

  it.each([
    ["another vendor's seal", "gAAAAABo"],
    ["a seal that came to harm", sealThought({ text: "x" }).slice(0, -3)],
    ["what is no seal", "gateway.e30"],
    ["what is no JSON", "gateway.QQ"],
    ["nothing", null],
  ])("is told without its seal when that is %s", (_, encrypted_content) => {
    expect(thoughtsOf({ summary, encrypted_content })).toEqual(part({ text: "short" }));
  });

  it("is told in full where the client has it in full", () => {
    const content = [{ type: "reasoning_text", text: "long" }];
    expect(thoughtsOf({ summary, content })).toEqual(part({ text: "long" }));
    expect(thoughtsOf({ summary, content: null })).toEqual(part({ text: "short" }));
    expect(thoughtsOf({ summary: [...summary, ...summary] })).toEqual(
      part({ text: "short\n\nshort" }),
    );
  });

  it("is nothing without words and without a seal of ours", () => {
    expect(thoughtsOf({ summary: [], encrypted_content: "gAAAAABo" })).toMatchObject({
      role: "user",
    });
  });
});

const f = { type: "function", name: "f", description: "F.", parameters: { type: "object" } };
const custom = (format?: object) => ({ type: "custom", name: "patch", description: "P.", format });
const namespace = (name: string, ...tools: readonly object[]) => ({
  type: "namespace",
  name,
  description: `About ${name}.`,
  tools,
});

describe("tools", () => {
  const toolsOf = (...tools: readonly object[]) => requestOf({ tools }).tools;
  const namesOf = (...tools: readonly object[]) => toolsOf(...tools).map(({ name }) => name);

  it("are functions, with and without their type; hosted ones are left out", () => {
    expect(
      toolsOf(
        { ...f, strict: true, defer_loading: true },
        { name: "g", description: null, parameters: null, strict: null },
        { type: "web_search", external_web_access: true },
        { type: "tool_search" },
        { type: "mcp", server_label: 5 },
        { type: "something_new", name: 5 },
      ),
    ).toEqual([
      { name: "f", description: "F.", parameters: { type: "object" }, strict: true },
      { name: "g" },
    ]);
  });

  it("of free text are functions of one text, which are told of their grammar", () => {
    const parameters = {
      type: "object",
      properties: { input: { type: "string", description: expect.any(String) } },
      required: ["input"],
      additionalProperties: false,
    };
    const grammar = { type: "grammar", syntax: "lark", definition: 'start: "x"' };
    expect(toolsOf(custom({ type: "text" }))).toEqual([
      { name: "patch", description: "P.", parameters },
    ]);
    expect(toolsOf(custom(grammar))[0]?.description).toMatch(/^P\.\n\n.*lark.*\nstart: "x"$/s);
  });

  it("of a namespace are functions of its name, told once what it is for", () => {
    const g = { type: "function", name: "g", description: "G." };
    expect(toolsOf(namespace("ns", { ...f, parameters: null }, g))).toEqual([
      { name: "ns__f", description: "About ns.\n\nF." },
      { name: "ns__g", description: "G." },
    ]);
    expect(namesOf(namespace("mcp__a_", f), namespace("a.b c", f))).toEqual([
      "mcp__a_f",
      "a_b_c__f",
    ]);
  });

  it("never share a name, and keep to the length that every vendor takes", () => {
    const long = "n".repeat(80);
    const names = namesOf(
      namespace("a", { name: "b__c" }, custom()),
      namespace("a__b", { name: "c" }),
      { type: "function", name: "a__b__c" },
      { type: "function", name: "a__b__c_2" },
      { type: "custom", name: "a__b__c" },
      namespace(long, { name: "x" }),
      namespace(`o${long}`, { name: "x" }),
      namespace(long, { name: "x" }),
    );
    expect(new Set(names).size).toBe(names.length);
    expect(names).toContain("a__b__c");
    for (const name of names) expect(name).toMatch(/^[\w-]{1,64}$/);
  });

  it("are named in the history as they are now", () => {
    const tools = [
      { type: "function", name: "ns__f" },
      namespace("ns", { name: "f" }),
      { ...custom(), name: "ns__f" },
    ];
    const past = [
      { type: "function_call", call_id: "1", name: "f", namespace: "ns", arguments: "{}" },
      { type: "function_call", call_id: "2", name: "ns__f", arguments: "{}" },
      { type: "custom_tool_call", call_id: "3", name: "ns__f", input: 'a"\n' },
      { type: "function_call", call_id: "4", name: "g", namespace: "gone", arguments: "{}" },
    ];
    const { tools: offered, messages } = requestOf({ input: past, tools });
    const [plain, inNamespace, free] = offered.map(({ name }) => name);
    expect(messages[0]?.content).toEqual([
      call("1", inNamespace ?? "", "{}"),
      call("2", plain ?? "", "{}"),
      call("3", free ?? "", '{"input":"a\\"\\n"}'),
      call("4", "gone__g", "{}"),
    ]);
  });

  it("come back in the answer's own form, without those that were left out", () => {
    const { tools } = repeatedOf({
      tools: [
        f,
        { ...custom({ type: "text" }), extra: 1 },
        namespace("ns", { name: "g" }),
        { type: "web_search" },
      ],
    });
    const g = {
      type: "function",
      name: "g",
      description: null,
      parameters: null,
      strict: null,
    };
    expect(tools).toEqual([
      { ...f, strict: null },
      custom({ type: "text" }),
      { ...namespace("ns"), tools: [g] },
    ]);
  });
});

describe("tool_choice", () => {
  const tools = [f, custom(), namespace("ns", { name: "g" }, { name: "f" })];
  const choiceOf = (tool_choice: unknown) => requestOf({ tools, tool_choice });

  it.each([
    ["auto", "auto"],
    ["none", "none"],
    ["required", "required"],
    ["any", "required"],
  ])("%s is %s", (given, type) => {
    expect(choiceOf(given).toolChoice).toEqual({ type });
    expect(repeatedOf({ tools, tool_choice: given })["tool_choice"]).toBe(type);
  });

  it.each([
    [{ type: "function", name: "f" }, "f"],
    [{ type: "function", name: "g" }, "ns__g"],
    [{ type: "function", name: "f", namespace: "ns" }, "ns__f"],
    [{ type: "custom", name: "patch" }, "patch"],
  ])("%j is the tool %s", (given, name) => {
    expect(choiceOf(given).toolChoice).toEqual({ type: "tool", name });
  });

  it("may allow some of the tools", () => {
    const allowed = [
      { type: "function", name: "f" },
      { type: "custom", name: "patch" },
      { type: "web_search" },
    ];
    const given = { type: "allowed_tools", mode: "required", tools: allowed };
    const { tools: kept, toolChoice } = choiceOf(given);
    expect(kept.map(({ name }) => name)).toEqual(["f", "patch", "ns__f"]);
    expect(toolChoice).toEqual({ type: "required" });
    const whole = {
      type: "allowed_tools",
      mode: "auto",
      tools: [{ type: "namespace", name: "ns" }],
    };
    expect(choiceOf(whole).tools.map(({ name }) => name)).toEqual(["ns__g", "ns__f"]);
    const none = { type: "allowed_tools", mode: "required", tools: [] };
    expect(choiceOf(none)).toMatchObject({ tools: [], toolChoice: undefined });
  });

  it("of a hosted tool, or without tools, says nothing", () => {
    for (const given of [{ type: "web_search" }, { type: "mcp", server_label: "x" }, null]) {
      expect(choiceOf(given).toolChoice).toBeUndefined();
      expect(repeatedOf({ tools, tool_choice: given })["tool_choice"]).toBe("auto");
    }
    expect(requestOf({ tool_choice: "required" }).toolChoice).toBeUndefined();
    expect(requestOf({ tools: [], tool_choice: { type: "function", name: "x" } }).tools).toEqual(
      [],
    );
  });
});

describe("parameters", () => {
  it("have their places, and null is as good as absent", () => {
    const given = {
      temperature: 0.5,
      top_p: 0.9,
      top_k: 40,
      max_output_tokens: 5,
      stop: "x",
      seed: 7,
      presence_penalty: 1,
      frequency_penalty: -1,
      top_logprobs: 2,
    };
    expect(requestOf(given).parameters).toEqual({
      temperature: 0.5,
      topP: 0.9,
      topK: 40,
      maxOutputTokens: 5,
      stop: ["x"],
      seed: 7,
      presencePenalty: 1,
      frequencyPenalty: -1,
      logprobs: true,
      topLogprobs: 2,
      responseFormat: undefined,
      extra: undefined,
    });
    const nulls = Object.fromEntries(Object.keys(given).map((name) => [name, null]));
    const more = { reasoning: null, text: null, tools: null, metadata: null, include: null };
    const { parameters, effort } = requestOf({ ...nulls, ...more, stream: null, store: null });
    expect(Object.values(parameters).every((value) => value === undefined)).toBe(true);
    expect(effort).toBeUndefined();
  });

  it("ask for log probabilities by what is to be included, too", () => {
    const include = ["message.output_text.logprobs"];
    expect(requestOf({ include }).parameters).toMatchObject({ logprobs: true });
    expect(requestOf({ top_logprobs: 0 }).parameters.logprobs).toBeUndefined();
  });

  it.each([
    [{}, undefined],
    [{ format: null }, undefined],
    [{ format: { type: "text" } }, { type: "text" }],
    [{ format: { type: "json_object" } }, { type: "json_object" }],
    [
      { format: { type: "json_schema", name: "n", schema: { a: 1 }, strict: true } },
      { type: "json_schema", name: "n", schema: { a: 1 }, strict: true },
    ],
  ])("text of %j asks for the format %j", (given, format) => {
    expect(requestOf({ text: given }).parameters.responseFormat).toEqual(format);
  });

  it("hand on what has the same name in the chat format, and nothing that only this format knows", () => {
    const { extra } = requestOf({
      min_p: 0.1,
      prompt_cache_key: "k",
      text: { verbosity: "low" },
      metadata: { a: "b", ext: { thinking: true } },
      store: true,
      truncation: "auto",
      include: ["reasoning.encrypted_content"],
      client_metadata: { a: "b" },
      stream_options: { include_obfuscation: false },
      max_tool_calls: 5,
      background: false,
      previous_response_id: null,
    }).parameters;
    expect(extra).toEqual({
      min_p: 0.1,
      prompt_cache_key: "k",
      verbosity: "low",
      metadata: { a: "b" },
    });
  });

  it.each([
    [{ effort: "minimal" }, undefined, "low", "minimal"],
    [{ effort: "xhigh" }, undefined, "max", "xhigh"],
    [{ effort: "none" }, undefined, "none", "none"],
    [{ effort: null }, undefined, undefined, null],
    [{ effort: "default" }, undefined, undefined, null],
    [{ effort: "low" }, { ext: { thinking: "high" } }, "high", "high"],
    [undefined, { service: { thinking: false } }, "none", "none"],
    [undefined, { ext: { thinking: true }, service: { thinking: false } }, "high", "high"],
  ])("reasoning %j with the metadata %j is %s", (reasoning, metadata, effort, repeated) => {
    expect(requestOf({ reasoning, metadata }).effort).toBe(effort);
    expect(repeatedOf({ reasoning, metadata })["reasoning"]).toMatchObject({ effort: repeated });
  });

  it("of the gateway itself are read", () => {
    expect(requestOf({ metadata: { ext: { tools_scope: ["a"] } } }).toolsScope).toEqual(["a"]);
    expect(requestOf({ ext: { fallbacks: ["m2"] } }).fallbacks).toEqual(["m2"]);
    expect(requestOf({ parallel_tool_calls: false }).parallelToolCalls).toBe(false);
    expect(requestOf({ stream: true, model: "" })).toMatchObject({
      stream: true,
      model: undefined,
    });
  });
});

describe("what the answer repeats", () => {
  it("has every field with the format's own defaults", () => {
    expect(repeatedOf({})).toEqual({
      previous_response_id: null,
      instructions: null,
      tools: [],
      tool_choice: "auto",
      truncation: "disabled",
      parallel_tool_calls: true,
      text: { format: { type: "text" } },
      temperature: 1,
      top_p: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      top_logprobs: 0,
      reasoning: { effort: null, summary: null },
      max_output_tokens: null,
      max_tool_calls: null,
      store: false,
      background: false,
      service_tier: "default",
      metadata: {},
      safety_identifier: null,
      prompt_cache_key: null,
    });
  });

  it("has the description of a text format, also where there is none", () => {
    const format = { type: "json_schema", name: "n", schema: {} };
    const repeated = (more: object) => repeatedOf({ text: { format: { ...format, ...more } } });
    expect(repeated({})["text"]).toEqual({
      format: { ...format, strict: false, description: null },
    });
    expect(repeated({ description: "D" })["text"]).toMatchObject({ format: { description: "D" } });
  });

  it("is what was asked, but for what is not done here", () => {
    const format = { type: "json_schema", name: "n", schema: { a: 1 }, strict: true };
    const same = {
      instructions: "Be brief.",
      truncation: "auto",
      parallel_tool_calls: false,
      text: { format, verbosity: "low" },
      temperature: 0,
      top_p: 0.5,
      presence_penalty: 1,
      frequency_penalty: 2,
      top_logprobs: 3,
      reasoning: { effort: "low", summary: "auto" },
      max_output_tokens: 100,
      max_tool_calls: 3,
      safety_identifier: "s",
      prompt_cache_key: "k",
      user: "u",
    };
    const metadata = { a: "b", ext: { thinking: "low" } };
    expect(repeatedOf({ ...same, store: true, service_tier: "flex", metadata })).toMatchObject({
      ...same,
      store: false,
      service_tier: "default",
      metadata: { a: "b" },
    });
  });
});
