import type { ChatRequest, ToolChoice, ToolDefinition } from "../../core/chat-request.ts";
import type { JsonObject } from "../../lib/json.ts";

/** The fields of the body that speak of tools; none when there are no tools. */
export function buildTools({ tools, toolChoice }: ChatRequest): JsonObject {
  if (tools.length === 0) return {};
  return {
    tools: [{ functionDeclarations: tools.map(buildTool) }],
    toolConfig: toolChoice && { functionCallingConfig: buildChoice(toolChoice) },
  };
}

/** The vendor's own `parameters` know a part of JSON Schema only. */
function buildTool({ name, description, parameters }: ToolDefinition): JsonObject {
  return { name, description: description ?? "", parametersJsonSchema: parameters };
}

function buildChoice(choice: ToolChoice): JsonObject {
  switch (choice.type) {
    case "auto":
      return { mode: "AUTO" };
    case "none":
      return { mode: "NONE" };
    case "required":
      return { mode: "ANY" };
    case "tool":
      return { mode: "ANY", allowedFunctionNames: [choice.name] };
  }
}
