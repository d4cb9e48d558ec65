import type { Call } from "../call.ts";
import { stringOf } from "../json.ts";
import type { Model } from "../models.ts";
import { anthropicError, invalid } from "./anthropic-error.ts";

/** Returns the model of the request. Throws Anthropic's errors. */
export function findAnthropicModel({ body, options }: Call): Model {
  const name = stringOf(body["model"]);
  if (name === undefined) throw invalid("model: Field required");
  const found = options.models.find((model) => model.name === name);
  if (found) return found;
  throw anthropicError(404, "not_found_error", `model: ${name}`);
}
