import type { ModelCatalog, Target } from "../backends/models/model-catalog.ts";
import type { ChatRequest } from "../core/chat-request.ts";
import { ServiceError } from "../core/service-error.ts";

/**
 * Finds the target for the client's model name, synchronously when the models are known. Throws or rejects with a
 * `ServiceError` that names `model` or the unsuitable field.
 */
export function resolveTarget(
  models: Pick<ModelCatalog, "resolve">,
  { model, toolsScope }: Pick<ChatRequest, "model" | "toolsScope">,
): Target | Promise<Target> {
  const target = models.resolve(model);
  if (toolsScope === undefined) return target;
  return target instanceof Promise ? target.then(refuseToolsScope) : refuseToolsScope();
}

function refuseToolsScope(): never {
  throw new ServiceError(
    "unsupported_parameter",
    "metadata.ext.tools_scope applies to assistants only; remove it, or name an assistant.",
    { param: "metadata.ext.tools_scope" },
  );
}
