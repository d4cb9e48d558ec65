const WEATHER_TOOL = {
  name: "get_weather",
  description: "Tells the weather of a city.",
  input_schema: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
  },
};

/** Example requests of the API reference. They work on any installation: an unknown model is answered by the default one. */
export const MESSAGE_EXAMPLES = {
  question: {
    summary: "A question",
    value: {
      max_tokens: 1_024,
      messages: [{ role: "user", content: "What is an inference gateway?" }],
    },
  },
  stream: {
    summary: "A streamed answer of a model that thinks",
    value: {
      max_tokens: 2_048,
      system: "Answer in one sentence.",
      messages: [{ role: "user", content: "Why is the sky blue?" }],
      thinking: { type: "adaptive" },
      output_config: { effort: "medium" },
      stream: true,
    },
  },
  tools: {
    summary: "A tool to call",
    value: {
      max_tokens: 1_024,
      messages: [{ role: "user", content: "What is the weather in Oslo and Paris?" }],
      tools: [WEATHER_TOOL],
    },
  },
  assistant: {
    summary: "An assistant; its name, its id or its slug is the model",
    value: {
      model: "Support",
      max_tokens: 500,
      messages: [{ role: "user", content: "How is the filter changed?" }],
    },
  },
};

export const TOKEN_COUNT_EXAMPLES = {
  question: {
    summary: "A question with a tool",
    value: {
      messages: [{ role: "user", content: "What is the weather in Oslo?" }],
      tools: [WEATHER_TOOL],
    },
  },
};

export const MESSAGE_EXAMPLE = {
  id: "msg_req_mf3k2v9zTq8Lw2Xa00001",
  type: "message",
  role: "assistant",
  model: "qwen3-8b",
  content: [
    { type: "thinking", thinking: "They ask for a definition.", signature: "gateway.req_mf3k2v9z" },
    { type: "text", text: "It is one address in front of many models.", citations: null },
  ],
  stop_reason: "end_turn",
  stop_sequence: null,
  stop_details: null,
  container: null,
  usage: {
    input_tokens: 14,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 21,
    output_tokens_details: { thinking_tokens: 8 },
    server_tool_use: null,
    cache_creation: null,
    service_tier: "standard",
    inference_geo: null,
  },
};

export const TOKEN_COUNT_EXAMPLE = { input_tokens: 76 };
