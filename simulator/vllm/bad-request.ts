import { EngineError } from "../engine-error.ts";

/** Creates vLLM's 400: its type is a class name, its code an integer. */
export function badRequest(message: string, param: string | null = null): EngineError {
  return vllmError(400, "BadRequestError", { message, param });
}

export function vllmError(
  status: number,
  type: string,
  { message, param = null }: { readonly message: string; readonly param?: string | null },
): EngineError {
  return new EngineError(status, { error: { message, type, param, code: status } });
}
