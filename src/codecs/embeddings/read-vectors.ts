import type { EmbeddingRequest, Vector } from "../../core/embedding.ts";
import { ServiceError } from "../../core/service-error.ts";
import { dimensionsOf, isVector } from "./vector.ts";

/**
 * Checks an engine's vectors: one per input, of the requested length. Throws `upstream_error` when they are invalid,
 * and `unsupported_parameter` when the model cannot shorten them.
 */
export function readVectors(
  values: readonly unknown[],
  { inputs, dimensions }: EmbeddingRequest,
): readonly Vector[] {
  if (values.length !== inputs.length) {
    throw garbled(`${values.length} vectors for ${inputs.length} inputs`);
  }
  return values.map((value) => {
    if (!isVector(value)) throw garbled("something other than vectors");
    const length = dimensionsOf(value);
    if (dimensions === undefined || length === dimensions) return value;
    throw new ServiceError(
      "unsupported_parameter",
      `The model's vectors have ${length} dimensions and cannot be shortened to ${dimensions}; omit 'dimensions'.`,
      { param: "dimensions" },
    );
  });
}

export function garbled(what: string): ServiceError {
  return new ServiceError("upstream_error", `The model server answered with ${what}.`);
}
