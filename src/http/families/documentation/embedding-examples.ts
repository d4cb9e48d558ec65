/** Example requests of the API reference. They have no model, so that they work on any installation. */
export const EMBEDDING_EXAMPLES = {
  text: { summary: "A text", value: { input: "The quick brown fox" } },
  texts: {
    summary: "Several texts, their vectors in base64",
    value: { input: ["The quick brown fox", "The lazy dog"], encoding_format: "base64" },
  },
  short: { summary: "A shorter vector", value: { input: "The quick brown fox", dimensions: 64 } },
};

export const EMBEDDING_LIST_EXAMPLE = {
  object: "list",
  data: [{ object: "embedding", index: 0, embedding: [0.0123, -0.0456, 0.0789] }],
  model: "nomic-embed-text:latest",
  usage: { prompt_tokens: 5, total_tokens: 5 },
};
