import type { Call } from "../call.ts";
import { EngineError } from "../engine-error.ts";
import { stringOf } from "../json.ts";
import { findModel, type Model } from "../models.ts";

/** Returns the model of the request. Throws Ollama's 400 or 404. */
export function findLocalModel({ body, options }: Call): Model {
  const name = stringOf(body["model"]) ?? stringOf(body["name"]);
  if (!name) throw new EngineError(400, { error: "model is required" });
  const found = findModel(options.models, name);
  if (found) return found;
  throw new EngineError(404, { error: `model "${name}" not found, try pulling it first` });
}

/** Returns a model's full name: Ollama always shows the tag. */
export function fullName(model: Model): string {
  return model.name.includes(":") ? model.name : `${model.name}:latest`;
}
