/** Example requests of the API reference. They work on any installation: an unknown model is answered by the default one. */
export const CHAT_COMPLETION_EXAMPLES = {
  question: {
    summary: "A question",
    value: { messages: [{ role: "user", content: "What is an inference gateway?" }] },
  },
  stream: {
    summary: "A streamed answer with its usage",
    value: {
      messages: [
        { role: "system", content: "Answer in one sentence." },
        { role: "user", content: "Why is the sky blue?" },
      ],
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 200,
      temperature: 0.7,
    },
  },
  tools: {
    summary: "A tool to call",
    value: {
      messages: [{ role: "user", content: "What is the weather in Oslo and Paris?" }],
      tools: [
        {
          type: "function",
          function: {
            name: "get_weather",
            description: "Tells the weather of a city.",
            parameters: {
              type: "object",
              properties: { city: { type: "string" } },
              required: ["city"],
            },
          },
        },
      ],
    },
  },
  assistant: {
    summary: "An assistant; its name, its id or its slug is the model",
    value: {
      model: "Support",
      messages: [{ role: "user", content: "How is the filter changed?" }],
    },
  },
};
