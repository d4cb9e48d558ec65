import { describe, expect, it } from "vitest";
import {
  MISTRAL_DIALECT,
  PLAIN_DIALECT,
  STRICT_DIALECT,
} from "../../src/codecs/chat-completions/client/dialect.ts";
import { createChatCompletionsClient } from "../../src/codecs/chat-completions/client.ts";
import type { ClientCodec } from "../../src/codecs/codec.ts";
import { generateContentClient } from "../../src/codecs/generate-content/client.ts";
import { messagesClient } from "../../src/codecs/messages/client.ts";
import { ollamaChatClient } from "../../src/codecs/ollama-chat/client.ts";
import { responsesClient } from "../../src/codecs/responses/client.ts";
import type { ChatRequest, GenerationParameters } from "../../src/core/chat/chat-request.ts";
import { PARAMETER_NAMES, type ParameterField } from "../../src/core/chat/parameter-names.ts";

const CODECS: Readonly<Record<string, ClientCodec>> = {
  "chat completions": createChatCompletionsClient(PLAIN_DIALECT),
  "chat completions, Mistral": createChatCompletionsClient(MISTRAL_DIALECT),
  "chat completions, strict": createChatCompletionsClient(STRICT_DIALECT),
  messages: messagesClient,
  responses: responsesClient,
  "generate content": generateContentClient,
  "ollama chat": ollamaChatClient,
};

const VALUES: Required<Omit<GenerationParameters, "extra">> = {
  temperature: 0.5,
  topP: 0.9,
  topK: 40,
  maxOutputTokens: 77,
  stop: ["END"],
  seed: 7,
  presencePenalty: 0.1,
  frequencyPenalty: 0.2,
  responseFormat: { type: "json_object" },
  logprobs: true,
  topLogprobs: 2,
};
const FIELDS = Object.keys(VALUES) as ParameterField[];

const PLAIN: ChatRequest = {
  model: "m",
  messages: [{ role: "user", content: [{ type: "text", text: "Speak." }] }],
  tools: [{ name: "look", parameters: { type: "object", properties: {} } }],
  parameters: {},
  stream: false,
};
const MODEL = { name: "m", contextLength: undefined };

describe.each(Object.entries(CODECS))("%s", (_name, codec) => {
  const isWritten = (request: ChatRequest) =>
    codec.build(request, MODEL) !== codec.build(PLAIN, MODEL);
  const unsaid = (request: ChatRequest) => codec.unsaid?.(request) ?? [];

  it.each(FIELDS)("reports %s exactly where it does not write it", (field) => {
    const request = { ...PLAIN, parameters: { [field]: VALUES[field] } };
    expect(unsaid(request)).toEqual(isWritten(request) ? [] : [PARAMETER_NAMES[field]]);
  });

  it("reports that only one call is allowed exactly where it does not write it", () => {
    const request = { ...PLAIN, parallelToolCalls: false };
    expect(unsaid(request)).toEqual(isWritten(request) ? [] : ["parallel_tool_calls"]);
  });

  it("reports nothing of a request without parameters", () => {
    expect(unsaid(PLAIN)).toEqual([]);
  });
});
