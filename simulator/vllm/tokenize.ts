import { type Call, sendJson } from "../call.ts";
import { renderPrompt } from "../content/render-prompt.ts";
import { tokenId, tokenize } from "../content/tokenizer.ts";
import { stringOf } from "../json.ts";
import { findServedModel } from "./find-served-model.ts";
import { readMessages, readTools } from "./read-messages.ts";

/** Handles POST /tokenize: a prompt, or messages and tools rendered by the chat template. */
export function tokenizePrompt(call: Call): Promise<void> {
  const { body } = call;
  const model = findServedModel(call);
  const prompt =
    stringOf(body["prompt"]) ??
    renderPrompt(readMessages(body["messages"]), readTools(body["tools"]));
  const isOpen = body["add_generation_prompt"] !== false;
  const text = isOpen ? prompt : prompt.replace(/<\|start\|>assistant\n$/, "");
  const tokens = tokenize(text);
  return sendJson(call, 200, {
    count: tokens.length,
    max_model_len: model.contextLength,
    tokens: tokens.map(tokenId),
    token_strs: body["return_token_strs"] === true ? tokens : null,
  });
}
