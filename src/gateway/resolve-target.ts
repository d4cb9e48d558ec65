import type { ModelCatalog, Target } from "../backends/model-catalog.ts";
import type { ChatRequest } from "../core/chat-request.ts";
import { ServiceError } from "../core/service-error.ts";

/** Finds who answers by the client's word for the model. Throws a `ServiceError` naming `model` or the field that does not fit. */
export async function resolveTarget(models: ModelCatalog, request: ChatRequest): Promise<Target> {
  const target = await models.resolve(request.model);
  if (request.toolsScope !== undefined) {
    throw new ServiceError(
      "unsupported_parameter",
      "metadata.ext.tools_scope applies to assistants only; take it out or name an assistant.",
      { param: "metadata.ext.tools_scope" },
    );
  }
  return target;
}
