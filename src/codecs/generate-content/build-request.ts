import type { ChatRequest, ToolChoice, ToolDefinition } from "../../core/chat-request.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { UpstreamModel } from "../codec.ts";
import { alternateTurns } from "../shared/alternate-turns.ts";
import { buildContents, buildText } from "./build-contents.ts";
import { buildGenerationConfig } from "./build-generation-config.ts";

/** Generations before the vendor began to demand seals on calls. What is not known is taken for the newest. */
const KNOWS_NO_SEALS = /^(?:models\/)?gemini-[12](?:[.-]|$)/i;

/**
 * The body of `:generateContent` and `:streamGenerateContent`, as text: whether it streams, and which model answers, is
 * said by the path.
 */
export function buildRequest(request: ChatRequest, model: UpstreamModel): string {
  // The vendor takes no thoughts of its own back, only the seals on calls and texts.
  const { system, turns } = alternateTurns(request.messages, () => false);
  const rest = JSON.stringify({
    systemInstruction: system.length === 0 ? undefined : { parts: system.map(buildText) },
    ...buildTools(request),
    generationConfig: buildGenerationConfig(request),
  });
  const contents = buildContents(turns, !KNOWS_NO_SEALS.test(model.name)).join(",");
  return `{"contents":[${contents}],${rest.slice(1)}`;
}

/** The fields of the body that speak of tools; none when there are no tools. */
function buildTools({ tools, toolChoice }: ChatRequest): JsonObject {
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
