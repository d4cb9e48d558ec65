import type { NativeTool, ToolChoice, ToolDefinition } from "../../../core/chat/chat-request.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import { checkRequest, invalidValue } from "../../shared/check-request.ts";
import { readCacheControl } from "./parse-blocks.ts";
import {
  customTool,
  isNativeType,
  type MessagesRequest,
  nativeTool,
  type ToolChange,
} from "./wire.ts";

interface ParsedTools {
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice: ToolChoice | undefined;
  readonly parallelToolCalls: boolean | undefined;
}

type WireChoice = NonNullable<MessagesRequest["tool_choice"]>;
type Path = readonly PropertyKey[];

/** Parses the tools and the tool choice. A choice without tools has no meaning and is dropped. */
export function parseTools(request: MessagesRequest): ParsedTools {
  const { tool_choice: choice } = request;
  const tools = applyChanges(
    (request.tools ?? []).flatMap((tool, index) => parseTool(tool, ["tools", index])),
    request,
  );
  if (tools.length === 0 || choice == null) {
    return { tools, toolChoice: undefined, parallelToolCalls: undefined };
  }
  return {
    tools,
    toolChoice: parseChoice(choice, tools, request),
    parallelToolCalls: choice.disable_parallel_tool_use === true ? false : undefined,
  };
}

/** Parses one tool. Tools that a vendor's servers run exist only there; the call continues without them. */
function parseTool(tool: { readonly type?: unknown }, path: Path): ToolDefinition[] {
  // A tool of another format. Dropping it silently would leave the model unable to act.
  if (tool.type === "function") {
    throw invalidValue([...path, "type"], 'a tool as {"name", "input_schema"}', tool.type);
  }
  if (isNativeType(tool.type)) return [parseNative(tool, path)];
  if (tool.type != null && tool.type !== "custom") return [];
  const given: unknown = tool;
  checkRequest(customTool, given, path);
  const { name, description, input_schema, strict } = given;
  return [
    {
      name,
      ...(description != null && { description }),
      parameters: input_schema as JsonObject,
      ...(strict != null && { strict }),
      ...readCacheControl(given),
    },
  ];
}

/** Parses a tool that only Anthropic's models know, without the fields that refer to tools which their vendor runs. */
function parseNative(given: unknown, path: Path): ToolDefinition {
  checkRequest(nativeTool, given, path);
  const {
    cache_control: _mark,
    allowed_callers: _callers,
    defer_loading: _defer,
    ...native
  } = given;
  return { name: given.name, native: native as NativeTool, ...readCacheControl(given) };
}

/**
 * Applies the system messages that add or remove tools in the course of the conversation. The state at its end counts.
 */
function applyChanges(
  declared: readonly ToolDefinition[],
  { messages }: MessagesRequest,
): readonly ToolDefinition[] {
  const tools = new Map(declared.map((tool) => [tool.name, tool]));
  const known = new Map(tools);
  for (const [index, message] of messages.entries()) {
    if (message.role !== "system" || !Array.isArray(message.content)) continue;
    for (const [at, block] of message.content.entries()) {
      if (block.type === "text") continue;
      applyChange({ tools, known }, block, [
        "messages",
        index,
        "content",
        at,
        "tool",
        "definition",
      ]);
    }
  }
  return [...tools.values()];
}

interface OfferedTools {
  readonly tools: Map<string, ToolDefinition>;
  /** All that were declared or added: one that was removed may come back by its name. */
  readonly known: Map<string, ToolDefinition>;
}

function applyChange({ tools, known }: OfferedTools, { type, tool }: ToolChange, path: Path): void {
  if (tool.type === "tool_definition") {
    for (const added of parseTool(tool.definition, path)) {
      tools.set(added.name, added);
      known.set(added.name, added);
    }
  } else if (tool.type === "tool_reference") {
    const named = known.get(tool.name);
    if (type === "tool_removal") tools.delete(tool.name);
    else if (named !== undefined) tools.set(tool.name, named);
  }
}

function parseChoice(
  choice: WireChoice,
  tools: readonly ToolDefinition[],
  request: MessagesRequest,
): ToolChoice | undefined {
  switch (choice.type) {
    case "auto":
      return { type: "auto" };
    case "any":
      return { type: "required" };
    case "none":
      return { type: "none" };
    case "tool": {
      const { name } = choice;
      if (tools.some((tool) => tool.name === name)) return { type: "tool", name };
      // The chosen tool was dropped, so the choice is dropped too.
      if (request.tools?.some((tool) => tool["name"] === name)) return undefined;
      throw invalidValue(["tool_choice", "name"], "the name of one of `tools`", name);
    }
  }
}
