import type { Call } from "../call.ts";
import { embed } from "../content/embedding.ts";
import { speakWhole } from "../content/speak.ts";
import { tokenize } from "../content/tokenizer.ts";
import { numberOf, stringsOf } from "../json.ts";
import { can } from "../models.ts";
import { badRequest } from "./bad-request.ts";
import { findLocalModel } from "./find-local-model.ts";

const DEFAULT_DIMENSIONS = 256;

/** Handles POST /api/embed: one text or a list; a text that is too long is truncated unless `truncate` is false. */
export function embedTexts(call: Call): Promise<void> {
  const { body, script } = call;
  const model = findLocalModel(call);
  const input = body["input"];
  const texts = stringsOf(input);
  if (!can(model, "embedding")) throw badRequest("this model does not support embeddings");
  if (Array.isArray(input) && texts.length !== input.length) throw badRequest("invalid input type");
  const most = model.dimensions ?? DEFAULT_DIMENSIONS;
  const asked = Math.min(numberOf(body["dimensions"]) ?? most, most);
  const dimensions = script?.dimensions ?? asked;
  const pieces = texts.map((text) => tokenize(text));
  if (body["truncate"] === false && pieces.some(({ length }) => length > model.contextLength)) {
    throw badRequest("the input length exceeds the context length");
  }
  const kept = pieces.map((tokens) => tokens.slice(0, model.contextLength));
  const inputTokens = kept.reduce((sum, tokens) => sum + tokens.length, 0);
  const answer = {
    model: body["model"],
    embeddings: kept.map((tokens) => embed(tokens.join(""), dimensions)),
    total_duration: 1_000_000,
    load_duration: 100_000,
    prompt_eval_count: inputTokens,
  };
  return speakWhole(call, answer, { inputTokens, outputTokens: 0 });
}
