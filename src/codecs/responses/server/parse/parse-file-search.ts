import type { AttributeFilter, FileSearch } from "../../../../core/file-search.ts";
import type { JsonObject } from "../../../../lib/json/json.ts";
import { parseAttributeFilter } from "../../../shared/attribute-filter.ts";
import { checkRequest, invalidValue } from "../../../shared/check-request.ts";
import type { ResponsesRequest } from "../wire.ts";
import { fileSearchTool } from "../wire-file-search.ts";

interface ParsedFileSearch {
  readonly fileSearch: FileSearch;
  /** The tool as the answer repeats it. */
  readonly repeated: JsonObject;
}

/** Parses the client's `file_search` tool; undefined when there is none. Throws `invalid_value` that names the field. */
export function parseFileSearch({
  tools,
}: Pick<ResponsesRequest, "tools">): ParsedFileSearch | undefined {
  const indexes = (tools ?? []).flatMap(({ type }, index) =>
    type === "file_search" ? [index] : [],
  );
  const [index, second] = indexes;
  if (index === undefined) return undefined;
  if (second !== undefined) {
    throw invalidValue(["tools", second], "one tool of the type `file_search`", "a second one");
  }
  const tool: unknown = tools?.[index];
  checkRequest(fileSearchTool, tool, ["tools", index]);
  const { vector_store_ids, max_num_results, ranking_options } = tool;
  const filter = parseAttributeFilter(tool.filters, ["tools", index, "filters"]);
  return {
    fileSearch: {
      vectorStoreIds: [...new Set(vector_store_ids)],
      limit: max_num_results ?? undefined,
      minSimilarity: ranking_options?.score_threshold ?? undefined,
      filter,
    },
    repeated: {
      type: "file_search",
      vector_store_ids,
      ...(max_num_results != null && { max_num_results }),
      ...(ranking_options != null && {
        ranking_options: { score_threshold: ranking_options.score_threshold ?? null },
      }),
      filters: filter === undefined ? null : repeatFilter(filter),
    },
  };
}

function repeatFilter(filter: AttributeFilter): JsonObject {
  return "filters" in filter
    ? { ...filter, filters: filter.filters.map(repeatFilter) }
    : { ...filter };
}
