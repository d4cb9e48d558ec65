import type { EmbeddingRequest, Vector } from "../../core/embedding.ts";
import { ServiceError } from "../../core/service-error.ts";
import { dimensionsOf, isVector } from "./vector.ts";

/**
 * An engine's vectors, checked: one for each input, and of the length that was asked for. Throws `upstream_error`
 * when they are not what they must be, `unsupported_parameter` when the model cannot be shortened.
 */
export function readVectors(
  values: readonly unknown[],
  { inputs, dimensions }: EmbeddingRequest,
): readonly Vector[] {
  if (values.length !== inputs.length) {
    throw garbled(`${values.length} vectors for ${inputs.length} inputs`);
  }
  return values.map((value) => {
    if (!isVector(value)) throw garbled("something else than vectors");
    const length = dimensionsOf(value);
    if (dimensions === undefined || length === dimensions) return value;
    throw new ServiceError(
      "unsupported_parameter",
      `The model's vectors have ${length} numbers and cannot be made ${dimensions} long; leave 'dimensions' out.`,
      { param: "dimensions" },
    );
  });
}

export function garbled(what: string): ServiceError {
  return new ServiceError("upstream_error", `The model server answered with ${what}.`);
}
