import type { Call } from "../call.ts";
import { stringOf } from "../json.ts";
import type { Model } from "../models.ts";
import { invalid, openAiError } from "./openai-error.ts";

/** Returns the model of the request. Throws OpenAI's errors. */
export function findOpenAiModel({ body, options }: Call): Model {
  const name = stringOf(body["model"]);
  if (!name) throw invalid("you must provide a model parameter", null);
  const found = options.models.find((model) => model.name === name);
  if (found) return found;
  const message = `The model \`${name}\` does not exist or you do not have access to it.`;
  throw openAiError(404, message, { code: "model_not_found" });
}
