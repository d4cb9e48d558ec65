import type { Usage } from "../../core/chat/usage.ts";
import type { EmbeddingRequest, Vector } from "../../core/embedding.ts";
import { ServiceError } from "../../core/service-error.ts";
import { dimensionsOf, isVector } from "./vector.ts";

/** The tokens of an answer with vectors. A count that the engine does not report is 0, for which the estimate counts. */
export function embeddedUsage(inputTokens: number | undefined): Usage {
  return { inputTokens: inputTokens ?? 0, outputTokens: 0 };
}

/**
 * Checks an engine's vectors: one per input, of the requested length. Throws `upstream_error` when they are invalid,
 * and `unsupported_parameter` when the model cannot shorten them, both with the usage: the engine has worked.
 */
export function readVectors(
  values: readonly unknown[],
  { inputs, dimensions }: EmbeddingRequest,
  usage: Usage,
): readonly Vector[] {
  if (values.length !== inputs.length) {
    throw garbled(`${values.length} vectors for ${inputs.length} inputs`, usage);
  }
  return values.map((value) => {
    if (!isVector(value)) throw garbled("something other than vectors", usage);
    const length = dimensionsOf(value);
    if (dimensions === undefined || length === dimensions) return value;
    throw new ServiceError(
      "unsupported_parameter",
      `The model's vectors have ${length} dimensions and cannot be shortened to ${dimensions}; omit 'dimensions'.`,
      { param: "dimensions", usage },
    );
  });
}

/** @param usage undefined for an answer that no model has made. */
export function garbled(what: string, usage?: Usage): ServiceError {
  return new ServiceError("upstream_error", `The model server answered with ${what}.`, { usage });
}
