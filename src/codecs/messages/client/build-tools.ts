import type { ChatRequest, ToolChoice, ToolDefinition } from "../../../core/chat/chat-request.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import type { Turn } from "../../shared/alternate-turns.ts";
import type { Block } from "./build-blocks.ts";

const CHOICE_WORDS = {
  auto: "auto",
  none: "none",
  required: "any",
  tool: "tool",
} as const satisfies Record<ToolChoice["type"], string>;

/**
 * Builds the tools and the tool choice. The vendor refuses calls in a conversation without tools. So when the request
 * has no tools, the called ones are declared, and the model may not call them.
 */
export function buildTools(
  request: ChatRequest,
  turns: readonly Turn[],
): { readonly tools: readonly Block[]; readonly choice: JsonObject | undefined } {
  if (request.tools.length > 0) {
    return { tools: request.tools.map(buildTool), choice: buildChoice(request) };
  }
  const called = new Set(
    turns
      .flatMap((turn) => (turn.role === "assistant" ? turn.content : []))
      .flatMap((part) => (part.type === "tool-call" ? [part.name] : [])),
  );
  const tools = Array.from(called, (name) => buildTool({ name }));
  return { tools, choice: tools.length === 0 ? undefined : { type: "none" } };
}

function buildTool(tool: ToolDefinition): Block {
  const { name, description, parameters, strict, cacheControl, native } = tool;
  if (native !== undefined) return { fields: native, cacheControl };
  const schema = { properties: {}, ...parameters, type: "object" };
  return {
    fields: { name, description, input_schema: schema, strict: strict === true || undefined },
    cacheControl,
  };
}

function buildChoice({ toolChoice, parallelToolCalls }: ChatRequest): JsonObject | undefined {
  const isSerial = parallelToolCalls === false;
  if (toolChoice === undefined && !isSerial) return undefined;
  const choice = toolChoice ?? { type: "auto" };
  const type = CHOICE_WORDS[choice.type];
  return {
    type,
    ...(choice.type === "tool" && { name: choice.name }),
    ...(isSerial && type !== "none" && { disable_parallel_tool_use: true }),
  };
}
