import { describe, expect, it } from "vitest";
import { parseCountRequest } from "../../../src/codecs/messages/server/parse-request.ts";
import { messagesServer } from "../../../src/codecs/messages/server.ts";
import type { ChatRequest } from "../../../src/core/chat/chat-request.ts";

const HELLO = { role: "user", content: "hello" };
const MARK = { type: "ephemeral", ttl: "1h" };
const TOOL = { name: "get_time", input_schema: { type: "object", properties: {} } };

function parse(fields: object, text?: string) {
  const body = { max_tokens: 64, messages: [HELLO], ...fields };
  return messagesServer.parse(body, text ?? JSON.stringify(body));
}

function request(fields: object): ChatRequest {
  return parse(fields).request;
}

/** The messages that come of a conversation. */
function messages(...turns: readonly object[]): ChatRequest["messages"] {
  return request({ messages: turns }).messages;
}

/** The parts that come of one user block. */
function userParts(...blocks: readonly object[]) {
  return messages({ role: "user", content: blocks })[0]?.content;
}

describe("a messages request", () => {
  it("is read into the gateway's own language", () => {
    expect(
      request({
        model: "sim-chat",
        system: "Be brief.",
        stream: true,
        temperature: 0.5,
        top_p: 0.9,
        top_k: 40,
        stop_sequences: ["END"],
        tools: [{ ...TOOL, description: "Tells the time.", strict: true, cache_control: MARK }],
        tool_choice: { type: "tool", name: "get_time", disable_parallel_tool_use: true },
      }),
    ).toEqual({
      model: "sim-chat",
      messages: [
        { role: "system", content: [{ type: "text", text: "Be brief." }] },
        { role: "user", content: [{ type: "text", text: "hello" }] },
      ],
      tools: [
        {
          name: "get_time",
          description: "Tells the time.",
          parameters: TOOL.input_schema,
          strict: true,
          cacheControl: MARK,
        },
      ],
      toolChoice: { type: "tool", name: "get_time" },
      parallelToolCalls: false,
      parameters: { maxOutputTokens: 64, temperature: 0.5, topP: 0.9, topK: 40, stop: ["END"] },
      stream: true,
    });
  });

  it("leaves out what it does not know and takes null for absent", () => {
    expect(
      request({
        model: null,
        system: null,
        tools: [],
        tool_choice: null,
        thinking: null,
        stop_sequences: [],
        metadata: { user_id: '{"device_id":"0"}' },
        context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
        container: null,
        service_tier: "auto",
        betas: ["x"],
      }),
    ).toEqual({
      messages: [{ role: "user", content: [{ type: "text", text: "hello" }] }],
      tools: [],
      parameters: { maxOutputTokens: 64 },
      stream: false,
    });
  });

  it("takes a limit of 0 for a prompt that is only to be cached", () => {
    const { request: asked, form } = parse({ max_tokens: 0 });
    expect(asked.parameters.maxOutputTokens).toBe(1);
    expect(form).toEqual({ omitsThinking: false, fillsCacheOnly: true });
  });

  it("needs no limit to be counted", () => {
    const counted = parseCountRequest({ messages: [HELLO], tools: [], stream: true }, "");
    expect(counted.stream).toBe(false);
    expect(counted.parameters).toEqual({});
    expect(() => messagesServer.parse({ messages: [HELLO] }, "")).toThrow("'max_tokens'");
  });

  it("takes fallback models and the gateway's own settings", () => {
    expect(request({ ext: { fallbacks: ["sim-small"] } }).fallbacks).toEqual(["sim-small"]);
    expect(request({ metadata: { ext: { tools_scope: ["a"] } } }).toolsScope).toEqual(["a"]);
  });
});

describe("the system prompt", () => {
  it("loses the line for the vendor's books, which changes and would ruin every cache", () => {
    const system = [
      { type: "text", text: "x-anthropic-billing-header: cc_version=2.1.329.f6c;" },
      { type: "text", text: "You are an agent.", cache_control: MARK },
      { type: "text", text: "Be brief." },
    ];
    expect(request({ system }).messages[0]).toEqual({
      role: "system",
      content: [
        { type: "text", text: "You are an agent.", cacheControl: MARK },
        { type: "text", text: "Be brief." },
      ],
    });
    expect(request({ system: system.slice(0, 1) }).messages).toHaveLength(1);
  });

  it.each([[""], [[]]])("of %j is none", (system) => {
    expect(request({ system }).messages).toHaveLength(1);
  });

  it("may be continued anywhere in the conversation, also at its end", () => {
    const said = messages(
      { role: "system", content: "One." },
      HELLO,
      { role: "assistant", content: "hi" },
      { role: "system", content: [{ type: "text", text: "Two." }] },
      HELLO,
      { role: "system", content: "Three." },
    );
    expect(said.map(({ role }) => role)).toEqual([
      "system",
      "user",
      "assistant",
      "system",
      "user",
      "system",
    ]);
  });

  it("leaves out what was meant for an earlier turn alone", () => {
    const passing = { role: "system", content: "Now.", clear_at: "next_user_message" };
    expect(messages(HELLO, passing).map(({ role }) => role)).toEqual(["user", "system"]);
    expect(messages(HELLO, passing, HELLO).map(({ role }) => role)).toEqual(["user", "user"]);
  });
});

describe("the blocks of a user's turn", () => {
  it("are text, in a string or in blocks, with their marks", () => {
    expect(messages(HELLO, HELLO)).toHaveLength(2);
    expect(
      userParts({ type: "text", text: "a", cache_control: MARK }, { type: "text", text: "" }),
    ).toEqual([{ type: "text", text: "a", cacheControl: MARK }]);
  });

  it("take a mark on the whole body for one on the last of them", () => {
    const content = [
      { type: "text", text: "a" },
      { type: "text", text: "b" },
    ];
    const marked = request({ cache_control: MARK, messages: [HELLO, { role: "user", content }] });
    expect(marked.messages[1]?.content).toEqual([
      { type: "text", text: "a" },
      { type: "text", text: "b", cacheControl: MARK },
    ]);
    expect(JSON.stringify(marked.messages[0])).not.toContain("cacheControl");
  });

  it("are images, each with its place in the body", () => {
    expect(
      userParts(
        { type: "text", text: "What is this?" },
        { type: "image", source: { type: "base64", media_type: "image/PNG", data: "AAAA" } },
        { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
      ),
    ).toEqual([
      { type: "text", text: "What is this?" },
      {
        type: "image",
        source: { kind: "base64", mediaType: "image/png", data: "AAAA" },
        at: "messages[0].content[1]",
      },
      {
        type: "image",
        source: { kind: "url", url: "https://example.com/a.png" },
        at: "messages[0].content[2]",
      },
    ]);
  });

  it("are documents: files whole, with what is said of them before", () => {
    const source = { type: "base64", media_type: "application/pdf", data: "JVBERi0" };
    expect(
      userParts({
        type: "document",
        source,
        title: "Report",
        context: "Of 2026.",
        cache_control: MARK,
      }),
    ).toEqual([
      { type: "text", text: "Of 2026." },
      {
        type: "document",
        source: { kind: "base64", mediaType: "application/pdf", data: "JVBERi0" },
        at: "messages[0].content[0]",
        title: "Report",
        cacheControl: MARK,
      },
    ]);
    const url = "https://example.com/a.pdf";
    expect(userParts({ type: "document", source: { type: "url", url } })).toEqual([
      { type: "document", source: { kind: "url", url }, at: "messages[0].content[0]" },
    ]);
  });

  it("are texts where documents and search results hold text", () => {
    const text = { type: "text", media_type: "text/plain", data: "All is well." };
    expect(userParts({ type: "document", source: text, title: "Report" })).toEqual([
      { type: "text", text: "Report\n\nAll is well." },
    ]);
    const image = { type: "image", source: { type: "url", url: "https://example.com/a.png" } };
    const content = [{ type: "text", text: "Seen:" }, image];
    expect(
      userParts({ type: "document", title: "Report", source: { type: "content", content } }),
    ).toEqual([
      { type: "text", text: "Report" },
      { type: "text", text: "Seen:" },
      {
        type: "image",
        source: { kind: "url", url: "https://example.com/a.png" },
        at: "messages[0].content[0].source.content[1]",
      },
    ]);
    expect(
      userParts({
        type: "search_result",
        source: "https://example.com",
        title: "A page",
        content: [
          { type: "text", text: "one" },
          { type: "text", text: "two" },
        ],
      }),
    ).toEqual([{ type: "text", text: "A page\n\nhttps://example.com\n\none\n\ntwo" }]);
  });

  it("keep the mark of a document in parts, on its last one", () => {
    const document = (...content: object[]) =>
      userParts({
        ...{ type: "document", title: "Report", cache_control: MARK },
        source: { type: "content", content },
      });
    const said = { type: "text", text: "one" };
    expect(document(said)).toEqual([
      { type: "text", text: "Report" },
      { ...said, cacheControl: MARK },
    ]);
    expect(document()).toEqual([{ type: "text", text: "Report", cacheControl: MARK }]);
    const own = { type: "ephemeral" };
    expect(document({ ...said, cache_control: own })?.at(-1)).toEqual({
      ...said,
      cacheControl: own,
    });
  });

  it("are results of calls, each a message, before the text that follows them", () => {
    expect(
      messages({
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "toolu_1", content: "Rain", cache_control: MARK },
          { type: "tool_result", tool_use_id: "toolu_2", is_error: true },
          {
            type: "tool_result",
            tool_use_id: "toolu_3",
            is_error: false,
            content: [
              { type: "text", text: "Seen" },
              { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
              { type: "tool_reference", tool_name: "get_time" },
            ],
          },
          { type: "text", text: "Go on." },
        ],
      }),
    ).toEqual([
      {
        role: "tool",
        callId: "toolu_1",
        content: [{ type: "text", text: "Rain" }],
        cacheControl: MARK,
      },
      { role: "tool", callId: "toolu_2", content: [], isError: true },
      {
        role: "tool",
        callId: "toolu_3",
        content: [
          { type: "text", text: "Seen" },
          {
            type: "image",
            source: { kind: "url", url: "https://example.com/a.png" },
            at: "messages[0].content[2].content[1]",
          },
          { type: "text", text: "get_time" },
        ],
      },
      { role: "user", content: [{ type: "text", text: "Go on." }] },
    ]);
  });

  it("lose what only the vendor's own servers can use", () => {
    const hosted = [
      { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} },
      { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] },
      { type: "some_new_tool_result", tool_use_id: "srvtoolu_2" },
    ];
    const said = { type: "text", text: "Found." };
    expect(messages(HELLO, { role: "assistant", content: [...hosted, said] })[1]).toEqual({
      role: "assistant",
      content: [said],
    });
    expect(userParts(...hosted, said)).toEqual([said]);
    expect(userParts(...hosted)).toEqual([]);
  });
});

describe("the blocks of an assistant's turn", () => {
  const turn = (...content: readonly object[]) =>
    messages({ role: "assistant", content })[0]?.content;

  it("are thoughts with their seals, texts and calls, in their order", () => {
    expect(
      turn(
        { type: "thinking", thinking: "Hm", signature: "gateway.req_1" },
        { type: "thinking", thinking: "unsealed", signature: "" },
        { type: "redacted_thinking", data: "openai.x" },
        { type: "text", text: "I look.", citations: null },
        { type: "tool_use", id: "toolu_1", name: "get_time", input: { a: 1 }, cache_control: MARK },
      ),
    ).toEqual([
      { type: "reasoning", text: "Hm", signature: "gateway.req_1" },
      { type: "reasoning", text: "unsealed" },
      { type: "reasoning", text: "", redacted: "openai.x" },
      { type: "text", text: "I look." },
      {
        type: "tool-call",
        callId: "toolu_1",
        name: "get_time",
        arguments: '{"a":1}',
        cacheControl: MARK,
      },
    ]);
  });

  it("may begin with a compaction, which says what was dropped before it", () => {
    const compaction = { type: "compaction", encrypted_content: "x", cache_control: MARK };
    const said = { type: "text", text: "Go on." };
    expect(turn({ ...compaction, content: "They spoke of tea." }, said)).toEqual([
      { type: "text", text: "They spoke of tea.", cacheControl: MARK },
      said,
    ]);
    // One that failed.
    expect(turn({ ...compaction, content: null }, said)).toEqual([said]);
  });

  it("lose a file of the vendor's container, which is said; the user's is refused", () => {
    const upload = { type: "container_upload", file_id: "file_1" };
    const said = { type: "text", text: "Made." };
    const parsed = parse({ messages: [{ role: "assistant", content: [said, upload] }] });
    expect(parsed.request.messages[0]?.content).toEqual([said]);
    expect(parsed.names.ignored).toEqual(["messages[container_upload]"]);
    expect(() => userParts(said, upload)).toThrow(
      expect.objectContaining({
        code: "unsupported_parameter",
        param: "messages[0].content[1].file_id",
      }),
    );
  });

  it("may be none: an earlier answer had no content", () => {
    expect(turn()).toEqual([]);
    expect(messages({ role: "assistant", content: "" })[0]?.content).toEqual([]);
  });

  it("keep integers of any size in a call's input", () => {
    const input = '{ "id" : 12345678901234567890,"text":"content: [{\\"}"}';
    const text = `{"max_tokens":1,"messages":[{"role":"user","content":"[{"},
      {"content":[{"type":"text","text":"x"},{"type":"tool_use","id":"t","name":"f","input":${input}},
      {"type":"tool_use","id":"u","name":"f","input":{"a":[]}}],"role":"assistant"}]}`;
    const calls = messagesServer.parse(JSON.parse(text), text).request.messages[1]?.content;
    expect(calls?.slice(1)).toMatchObject([{ arguments: input }, { arguments: '{"a":[]}' }]);
  });
});

describe("the tools", () => {
  it("that a vendor's servers run are dropped, and so is the choice of one", () => {
    const tools = [TOOL, { type: "web_search_20260318", name: "web_search", max_uses: 5 }];
    const asked = request({ tools, tool_choice: { type: "tool", name: "web_search" } });
    expect(asked.tools.map(({ name }) => name)).toEqual(["get_time"]);
    expect(asked.toolChoice).toBeUndefined();
  });

  it.each(["bash_20250124", "text_editor_20250728", "memory_20250818", "computer_20251124"])(
    "that Anthropic's models know and the client runs are kept as they are: %s",
    (type) => {
      const definition = { type, name: "known", max_characters: 10_000 };
      const hosted = { defer_loading: false, allowed_callers: ["direct"] };
      const parsed = parse({
        tools: [{ ...definition, ...hosted, cache_control: MARK }],
        tool_choice: { type: "tool", name: "known" },
      });
      expect(parsed.request.tools).toEqual([
        { name: "known", native: definition, cacheControl: MARK },
      ]);
      expect(parsed.request.toolChoice).toEqual({ type: "tool", name: "known" });
      expect(parsed.names.ignored).toEqual([]);
      expect(() => request({ tools: [{ type }] })).toThrow(/tools\[0\]\.name/);
    },
  );

  it("of the chat format are refused, not dropped", () => {
    const tools = [{ type: "function", function: { name: "f", parameters: { type: "object" } } }];
    expect(() => request({ tools })).toThrow(/tools\[0\]\.type.*input_schema/);
  });

  it.each([
    [{ type: "auto" }, { type: "auto" }],
    [{ type: "any" }, { type: "required" }],
    [{ type: "none" }, { type: "none" }],
    [
      { type: "tool", name: "get_time" },
      { type: "tool", name: "get_time" },
    ],
  ])("are chosen from by %j", (tool_choice, toolChoice) => {
    expect(request({ tools: [TOOL], tool_choice }).toolChoice).toEqual(toolChoice);
    expect(request({ tools: [], tool_choice: { type: "any" } }).toolChoice).toBeUndefined();
  });

  it("come and go with the system messages of the conversation", () => {
    const change = (type: string, tool: object) => ({
      role: "system",
      content: [{ type, tool }],
    });
    const definition = { ...TOOL, name: "get_weather" };
    const asked = request({
      tools: [TOOL],
      messages: [
        HELLO,
        change("tool_addition", { type: "tool_definition", definition }),
        change("tool_removal", { type: "tool_reference", name: "get_time" }),
        change("tool_addition", { type: "mcp_toolset_reference", server_name: "x" }),
      ],
    });
    expect(asked.tools.map(({ name }) => name)).toEqual(["get_weather"]);
    expect(asked.messages).toHaveLength(1);
  });

  it("come back by their names after they were removed", () => {
    const definition = { ...TOOL, name: "get_weather" };
    const added = { type: "tool_addition", tool: { type: "tool_definition", definition } };
    const change = (type: string, name: string) => ({
      type,
      tool: { type: "tool_reference", name },
    });
    const content = [
      added,
      ...["get_weather", "get_time"].map((name) => change("tool_removal", name)),
      ...["get_time", "unknown", "get_weather"].map((name) => change("tool_addition", name)),
    ];
    const asked = request({ tools: [TOOL], messages: [HELLO, { role: "system", content }] });
    expect(asked.tools.map(({ name }) => name)).toEqual(["get_time", "get_weather"]);
  });
});

describe("lists in the content of a message", () => {
  const many = Array.from({ length: 100_001 }, () => 1);
  it.each<[string, object]>([
    ["a tool's result", { type: "tool_result", tool_use_id: "t", content: many }],
    ["a document", { type: "document", source: { type: "content", content: many } }],
    [
      "a document in a tool's result",
      {
        ...{ type: "tool_result", tool_use_id: "t" },
        content: [{ type: "document", source: { type: "content", content: many } }],
      },
    ],
  ])("are counted before each member is checked: of %s", (_, block) => {
    const read = () => request({ messages: [{ role: "user", content: [block] }] });
    expect(read).toThrow("at most 100000 items in all");
  });
});

describe("the effort", () => {
  const adaptive = { type: "adaptive" };
  const own = (effort: string) => ({ output_config: { effort } });
  it.each([
    ["nothing", {}, undefined],
    ["adaptive thinking", { thinking: adaptive }, "high"],
    ["a budget", { thinking: { type: "enabled", budget_tokens: 2_048 } }, "high"],
    ["adaptive thinking with low", { thinking: adaptive, ...own("low") }, "low"],
    ["a budget with xhigh", { thinking: { type: "enabled" }, ...own("xhigh") }, "max"],
    ["an effort without thinking", own("medium"), "medium"],
    ["no thinking", { thinking: { type: "disabled" }, ...own("high") }, "none"],
    ["thinking between tools", { thinking: { type: "between_tools" }, ...own("high") }, "low"],
    ["the gateway's own setting", { ...own("low"), metadata: { ext: { thinking: true } } }, "high"],
    [
      "the last system message",
      { ...own("low"), messages: [HELLO, { role: "system", content: "x", ...own("medium") }] },
      "medium",
    ],
  ])("of %s", (_, fields, effort) => {
    expect(request(fields).effort).toBe(effort);
    const isLeft = effort !== undefined && !("thinking" in fields) && !("metadata" in fields);
    expect(request(fields).leavesThinking).toBe(isLeft || undefined);
  });

  it("is one thing, to show the thoughts another", () => {
    const omitted = parse({ thinking: { type: "adaptive", display: "omitted" } });
    expect(omitted.request.omitsReasoning).toBe(true);
    expect(omitted.form.omitsThinking).toBe(true);
    expect(
      parse({ thinking: { type: "adaptive", display: "summarized" } }).form.omitsThinking,
    ).toBe(false);
  });
});

describe("the format of the answer", () => {
  const format = { type: "json_schema", schema: { type: "object" } };
  it.each([[{ output_config: { format } }], [{ output_format: format }]])(
    "is read of %j",
    (fields) => {
      expect(request(fields).parameters.responseFormat).toEqual({
        type: "json_schema",
        name: "answer",
        schema: { type: "object" },
      });
    },
  );
});
