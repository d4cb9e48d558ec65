/** Example requests of the API reference. They work on any installation: an unknown model is answered by the default one. */
export const RESPONSE_EXAMPLES = {
  question: {
    summary: "A question",
    value: { input: "What is an inference gateway?" },
  },
  stream: {
    summary: "A streamed answer with instructions",
    value: {
      instructions: "Answer in one sentence.",
      input: [{ role: "user", content: "Why is the sky blue?" }],
      stream: true,
      max_output_tokens: 200,
      reasoning: { effort: "low" },
    },
  },
  tools: {
    summary: "The output of a tool that the model has called",
    value: {
      input: [
        { role: "user", content: "What is the weather in Oslo?" },
        {
          type: "function_call",
          call_id: "call_1",
          name: "get_weather",
          arguments: '{"city":"Oslo"}',
        },
        { type: "function_call_output", call_id: "call_1", output: "Rain, 4 °C" },
      ],
      tools: [
        {
          type: "function",
          name: "get_weather",
          description: "Tells the weather of a city.",
          parameters: {
            type: "object",
            properties: { city: { type: "string" } },
            required: ["city"],
          },
        },
      ],
    },
  },
  assistant: {
    summary: "An assistant; its name, its id or its slug is the model",
    value: { model: "Support", input: "How is the filter changed?" },
  },
};
