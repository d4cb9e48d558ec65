import type { Part } from "../core/part.ts";
import type { SearchParts } from "./builtin/search-knowledge.ts";
import { createToolRegistry, type ToolRegistry } from "./registry.ts";
import { createToolFigures, type ToolFigures } from "./tool-figures.ts";

export interface Tools extends Part {
  readonly tools: ToolRegistry;
  /** Counts a call that has ended. */
  readonly countToolCall: ToolFigures["countCall"];
}

/** What models can do beside answering. */
export function openTools(parts: SearchParts): Tools {
  const tools = createToolRegistry(parts);
  const { countCall, metrics } = createToolFigures(tools.builtIn);
  return { tools, countToolCall: countCall, metrics };
}
