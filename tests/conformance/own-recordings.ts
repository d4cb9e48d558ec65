/** A request as a client sends it. */
export interface Recording {
  readonly name: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

const headers = { "content-type": "application/json", accept: "text/event-stream" };

/** Written after the habits of coding agents: the same ground as the recorded ones, for where those are missing. */
export const OWN_RECORDINGS: readonly Recording[] = [
  {
    name: "an agent's first turn, messages",
    path: "/v1/messages?beta=true",
    headers: {
      ...headers,
      "anthropic-version": "2023-06-01",
      "anthropic-beta": "interleaved-thinking-2025-05-14,effort-2025-11-24,some-beta-2027-01-01",
    },
    body: {
      model: "any",
      max_tokens: 32_000,
      stream: true,
      thinking: { type: "adaptive", display: "omitted" },
      output_config: { effort: "high" },
      context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
      metadata: { user_id: '{"device_id":"d","session_id":"s"}' },
      system: [
        { type: "text", text: "x-anthropic-billing-header: cc_version=9.9.9; cch=1f;" },
        { type: "text", text: "You are an agent.", cache_control: { type: "ephemeral" } },
      ],
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "<system-reminder>Be careful.</system-reminder>" },
            { type: "text", text: "Say: hi", cache_control: { type: "ephemeral", ttl: "1h" } },
          ],
        },
        { role: "system", content: "The folder is /work." },
      ],
      tools: [
        {
          name: "Bash",
          description: "Runs a command.",
          input_schema: { type: "object", properties: { command: { type: "string" } } },
          eager_input_streaming: true,
        },
        {
          name: "Search",
          description: "Searches.",
          input_schema: { type: "object" },
          defer_loading: true,
        },
        { type: "web_search_20260318", name: "web_search" },
      ],
    },
  },
  {
    name: "an agent's second turn, messages",
    path: "/v1/messages",
    headers: { ...headers, "x-api-key": "sk-EXAMPLE", "anthropic-version": "2026-10-21" },
    body: {
      model: "any",
      max_tokens: 32_000,
      stream: true,
      system: "You are an agent.",
      messages: [
        { role: "user", content: "Say: hi with Bash" },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "I shall run it.", signature: "gateway.local" },
            {
              type: "tool_use",
              id: "call_1",
              name: "Bash",
              input: { command: "echo hi" },
              cache_control: { type: "ephemeral" },
            },
          ],
        },
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: "call_1", content: "hi", is_error: false }],
        },
      ],
      tools: [{ name: "Bash", input_schema: { type: "object" } }],
    },
  },
  {
    name: "an agent counts its tokens",
    path: "/v1/messages/count_tokens?beta=true",
    headers: { ...headers, "anthropic-version": "2023-06-01" },
    body: { model: "any", messages: [{ role: "user", content: "foo" }], tools: [] },
  },
  {
    name: "an agent's second turn, responses",
    path: "/v1/responses",
    headers: { ...headers, originator: "agent", "session-id": "s" },
    body: {
      model: "any",
      stream: true,
      store: false,
      include: ["reasoning.encrypted_content"],
      parallel_tool_calls: true,
      tool_choice: "auto",
      prompt_cache_key: "s",
      reasoning: { summary: "auto" },
      client_metadata: { installation: "i" },
      input: [
        {
          type: "message",
          role: "developer",
          content: [{ type: "input_text", text: "An agent." }],
        },
        { role: "user", content: [{ type: "input_text", text: "Say: hi" }] },
        { type: "reasoning", summary: [], content: null, encrypted_content: "opaque" },
        {
          type: "function_call",
          call_id: "call_1",
          name: "read",
          namespace: "files",
          arguments: '{"path":"a"}',
        },
        { type: "function_call_output", call_id: "call_1", output: "contents" },
        { type: "some_future_item", id: "x" },
      ],
      tools: [
        {
          type: "namespace",
          name: "files",
          description: "Files.",
          tools: [
            {
              type: "function",
              name: "read",
              description: "Reads.",
              parameters: { type: "object", properties: { path: { type: "string" } } },
              strict: false,
            },
          ],
        },
        { type: "custom", name: "apply_patch", description: "Patches.", format: { type: "text" } },
        { type: "tool_search" },
        { type: "web_search" },
      ],
    },
  },
  {
    name: "an agent's second turn, chat",
    path: "/v1/chat/completions",
    headers,
    body: {
      model: "any",
      max_tokens: 32_000,
      stream: true,
      messages: [
        { role: "system", content: "You are an agent." },
        { role: "user", content: [{ type: "text", text: "Say: hi" }] },
        {
          role: "assistant",
          content: null,
          reasoning_content: "thinking...",
          tool_calls: [
            { id: "call_1", type: "function", function: { name: "bash", arguments: '{"c":"e"}' } },
          ],
        },
        { role: "tool", tool_call_id: "call_1", content: "hi" },
      ],
      tools: [
        { type: "function", function: { name: "bash", parameters: { type: "object" } } },
        { type: "custom", custom: { name: "apply_patch", format: { type: "text" } } },
      ],
      tool_choice: "auto",
    },
  },
];
