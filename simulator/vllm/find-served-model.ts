import type { Call } from "../call.ts";
import { stringOf } from "../json.ts";
import { findModel, type Model } from "../models.ts";
import { vllmError } from "./bad-request.ts";

/** Returns the model of the request, or the first model when it names none. Throws vLLM's 404. */
export function findServedModel({ body, options }: Call): Model {
  const name = stringOf(body["model"]);
  const found = name === undefined ? options.models[0] : findModel(options.models, name);
  if (found) return found;
  const message = `The model \`${name}\` does not exist.`;
  throw vllmError(404, "NotFoundError", { message, param: "model" });
}
