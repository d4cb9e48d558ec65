import { EngineError } from "../engine-error.ts";

/** Creates Ollama's 400, which is only a text. */
export function badRequest(error: string): EngineError {
  return new EngineError(400, { error });
}
