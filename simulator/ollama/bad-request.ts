import { EngineError } from "../engine-error.ts";

/** Ollama's 400: nothing but a text. */
export function badRequest(error: string): EngineError {
  return new EngineError(400, { error });
}
