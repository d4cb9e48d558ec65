import { type Call, type Handler, sendJson } from "../call.ts";
import { renderPrompt } from "../content/render-prompt.ts";
import { tokenId, tokenize } from "../content/tokenizer.ts";
import { EngineError } from "../engine-error.ts";
import { numberOf, stringOf } from "../json.ts";
import { can, type Model } from "../models.ts";
import { chat } from "../vllm/chat.ts";
import { embeddings } from "../vllm/embeddings.ts";
import { findServedModel } from "../vllm/find-served-model.ts";
import { readMessages, readTools } from "../vllm/read-messages.ts";

/** The routes of llama.cpp's server: vLLM's format with other errors, another model list and another tokenizer call. */
export const llamaCppRoutes: Readonly<Record<string, Handler>> = {
  "GET /health": (call) => sendJson(call, 200, { status: "ok" }),
  "GET /v1/models": listModels,
  "POST /v1/chat/completions": (call) => {
    checkImages(call);
    return chat(withinContext(call));
  },
  "POST /v1/embeddings": embeddings,
  "POST /tokenize": (call) => {
    const tokens = tokenize(stringOf(call.body["content"]) ?? "").map(tokenId);
    return sendJson(call, 200, { tokens });
  },
};

function listModels(call: Call): Promise<void> {
  const { models } = call.options;
  return sendJson(call, 200, {
    models: models.map((model) => ({
      name: model.name,
      model: model.name,
      capabilities: can(model, "vision") ? ["completion", "multimodal"] : ["completion"],
    })),
    object: "list",
    data: models.map(toCard),
  });
}

/** Renders a model; it may be trained on more tokens than the server was started with. */
function toCard({ name, contextLength }: Model): object {
  return {
    id: name,
    aliases: [],
    tags: [],
    object: "model",
    created: 1_763_600_000,
    owned_by: "llamacpp",
    meta: { vocab_type: 2, n_vocab: 151_936, n_ctx: contextLength, n_ctx_train: 4 * contextLength },
  };
}

/** Refuses images for a model without vision, with a server error, as llama.cpp reports it. */
function checkImages(call: Call): void {
  const hasImages = readMessages(call.body["messages"]).some(({ images }) => images > 0);
  if (!hasImages || can(findServedModel(call), "vision")) return;
  const message =
    "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj";
  throw new EngineError(500, { error: { code: 500, message, type: "server_error" } });
}

/** Checks only the prompt against the context; an answer that would exceed the context is truncated there. */
function withinContext(call: Call): Call {
  const { body, options } = call;
  const { contextLength } = findServedModel(call);
  const prompt = renderPrompt(readMessages(body["messages"]), readTools(body["tools"]));
  const promptTokens = tokenize(prompt).length;
  if (promptTokens < contextLength) {
    const asked = numberOf(body["max_tokens"]) ?? contextLength;
    const maxTokens = Math.min(asked, contextLength - promptTokens);
    return { ...call, body: { ...body, max_tokens: maxTokens } };
  }
  const message = options.legacy
    ? "the request exceeds the available context size. try increasing the context size or enable context shift"
    : `request (${promptTokens} tokens) exceeds the available context size (${contextLength} tokens), try increasing it`;
  const error = {
    code: 400,
    message,
    type: "exceed_context_size_error",
    n_prompt_tokens: promptTokens,
    n_ctx: contextLength,
  };
  throw new EngineError(400, { error });
}
