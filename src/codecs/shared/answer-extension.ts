import * as z from "zod";
import type { JsonObject } from "../../lib/json.ts";

/** The `ext` member of an answer, for the API documentation. */
export const answerExtSchema = z
  .object({
    sources: z
      .array(z.looseObject({}))
      .optional()
      .describe("The knowledge sources that the answer used."),
    ignored: z
      .array(z.string())
      .optional()
      .describe(
        "Parameters of the request that had no effect, sorted, as in the header `x-ignored-parameters`. " +
          "A stream reports them in its first event.",
      ),
  })
  .optional()
  .describe("The gateway's own part of the answer.");

interface Extension {
  readonly sources?: readonly JsonObject[];
  readonly ignored?: readonly string[] | undefined;
}

/** Returns the `ext` member of an answer, or no member when it would be empty. */
export function encodeExtension({ sources = [], ignored = [] }: Extension): JsonObject {
  if (sources.length === 0 && ignored.length === 0) return {};
  return {
    ext: {
      ...(sources.length > 0 && { sources }),
      ...(ignored.length > 0 && { ignored }),
    },
  };
}
