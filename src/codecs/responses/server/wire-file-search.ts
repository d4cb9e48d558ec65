import * as z from "zod";
import { VECTOR_STORE_ID } from "../../../core/file-search.ts";

const MAX_STORES = 20;
const MAX_RESULTS = 50;

export const fileSearchTool = z.looseObject({
  type: z.literal("file_search"),
  vector_store_ids: z
    .array(z.string().regex(VECTOR_STORE_ID, "the id of a vector store"))
    .min(1)
    .max(MAX_STORES),
  max_num_results: z.int().min(1).max(MAX_RESULTS).nullish(),
  ranking_options: z
    .looseObject({ score_threshold: z.number().min(0).max(1).nullish() })
    .nullish()
    .describe("`score_threshold` is the least cosine of a passage."),
  // `parseAttributeFilter` reads it.
  filters: z.unknown().optional(),
});

/** The tool for the API documentation, which shows what the parser of filters expects. */
export const documentedFileSearchTool = fileSearchTool.extend({
  filters: z
    .looseObject({ type: z.string() })
    .nullish()
    .describe(
      "`{type, key, value}` with eq, ne, gt, gte, lt, lte, in or nin, or `{type, filters}` with and or or.",
    ),
});
