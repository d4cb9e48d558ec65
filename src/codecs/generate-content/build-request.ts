import type { ChatRequest, ToolChoice, ToolDefinition } from "../../core/chat/chat-request.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { UpstreamModel } from "../codec.ts";
import { alternateTurns } from "../shared/alternate-turns.ts";
import { buildContents, buildText } from "./build-contents.ts";
import { buildGenerationConfig } from "./build-generation-config.ts";

/** Model generations before the vendor required seals on calls. An unknown model is treated as the newest. */
const KNOWS_NO_SEALS = /^(?:models\/)?gemini-[12](?:[.-]|$)/i;

/**
 * Builds the body of `:generateContent` and `:streamGenerateContent`, as text. The path determines the model and
 * whether the answer streams.
 */
export function buildRequest(request: ChatRequest, model: UpstreamModel): string {
  // The vendor accepts none of its own reasoning back, only the seals on calls and texts.
  const { system, turns } = alternateTurns(request.messages, () => false);
  const rest = JSON.stringify({
    systemInstruction: system.length === 0 ? undefined : { parts: system.map(buildText) },
    ...buildTools(request),
    generationConfig: buildGenerationConfig(request),
  });
  const contents = buildContents(turns, !KNOWS_NO_SEALS.test(model.name)).join(",");
  return `{"contents":[${contents}],${rest.slice(1)}`;
}

/** Returns the fields for tools; none when there are no tools. */
function buildTools({ tools, toolChoice }: ChatRequest): JsonObject {
  if (tools.length === 0) return {};
  return {
    tools: [{ functionDeclarations: tools.map(buildTool) }],
    toolConfig: toolChoice && { functionCallingConfig: buildChoice(toolChoice) },
  };
}

/** Builds a tool. The vendor's own `parameters` field supports only a part of JSON Schema. */
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
