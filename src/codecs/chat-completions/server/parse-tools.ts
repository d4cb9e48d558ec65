import type * as z from "zod";
import type { ToolChoice, ToolDefinition } from "../../../core/chat/chat-request.ts";
import { isJsonObject } from "../../../lib/json/json.ts";
import { checkRequest, invalidValue } from "../../shared/check-request.ts";
import { type ChatCompletionRequest, functionSchema } from "./wire.ts";

/** The tools of a request and the tool choice. */
interface ParsedTools {
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice: ToolChoice | undefined;
}

type WireTool = NonNullable<ChatCompletionRequest["tools"]>[number];
type WireChoice = NonNullable<ChatCompletionRequest["tool_choice"]>;

const CHOICES: ReadonlyMap<string, ToolChoice> = new Map([
  ["auto", { type: "auto" }],
  ["none", { type: "none" }],
  ["required", { type: "required" }],
  ["any", { type: "required" }],
]);

/** Parses the tools and the tool choice. A choice without tools has no meaning and is dropped. */
export function parseTools(request: ChatCompletionRequest): ParsedTools {
  const { tools, tool_choice, functions } = request;
  if (tools == null && functions != null && functions.length > 0) {
    // Legacy functions are accepted only when none of them may be called.
    return { tools: functions.map(toDefinition), toolChoice: { type: "none" } };
  }
  const defined = (tools ?? []).flatMap((tool, index) => parseTool(tool, index));
  if (defined.length === 0) return { tools: [], toolChoice: undefined };
  if (tool_choice == null) return { tools: defined, toolChoice: undefined };
  return parseChoice(tool_choice, defined);
}

/** Parses one tool. Newer clients send tools that only their vendor has; the call continues without them. */
function parseTool(tool: WireTool, index: number): ToolDefinition[] {
  if (tool.type != null && tool.type !== "function") return [];
  // Some clients omit the inner object.
  const isNested = tool.function != null;
  const definition: unknown = isNested ? tool.function : tool;
  checkRequest(functionSchema, definition, ["tools", index, ...(isNested ? ["function"] : [])]);
  return [toDefinition(definition)];
}

function toDefinition(definition: z.infer<typeof functionSchema>): ToolDefinition {
  const { name, description, parameters, strict } = definition;
  return {
    name,
    ...(description != null && { description }),
    ...(isJsonObject(parameters) && { parameters }),
    ...(strict != null && { strict }),
  };
}

function parseChoice(choice: WireChoice, tools: readonly ToolDefinition[]): ParsedTools {
  const word = typeof choice === "string" ? choice : choice.type;
  const known = CHOICES.get(word);
  if (known !== undefined) return { tools, toolChoice: known };
  if (typeof choice === "string") throw wrongChoice(choice);
  switch (choice.type) {
    case "function":
      return { tools, toolChoice: { type: "tool", name: readName(choice, tools) } };
    case "allowed_tools":
      return parseAllowed(choice, tools);
    case "custom":
      // The chosen tool was dropped.
      return { tools, toolChoice: undefined };
    default:
      throw wrongChoice(choice.type);
  }
}

function parseAllowed(choice: object, tools: readonly ToolDefinition[]): ParsedTools {
  const outer: unknown = Reflect.get(choice, "allowed_tools");
  const { mode, tools: allowed } = isJsonObject(outer) ? outer : { mode: null, tools: null };
  if (!Array.isArray(allowed)) {
    throw invalidValue(["tool_choice", "allowed_tools", "tools"], "an array", allowed);
  }
  const names = new Set(allowed.map(nameIn));
  const toolChoice = CHOICES.get(typeof mode === "string" ? mode : "auto");
  return { tools: tools.filter(({ name }) => names.has(name)), toolChoice };
}

function readName(choice: unknown, tools: readonly ToolDefinition[]): string {
  const name = nameIn(choice);
  const found = tools.find((tool) => tool.name === name);
  if (found !== undefined) return found.name;
  throw invalidValue(["tool_choice"], "the name of one of `tools`", name);
}

/** Finds the name in `{function: {name}}` or in the flat form `{name}`. */
function nameIn(value: unknown): unknown {
  if (!isJsonObject(value)) return undefined;
  const { name, function: inner } = value;
  return isJsonObject(inner) ? nameIn(inner) : name;
}

function wrongChoice(received: string): Error {
  return invalidValue(["tool_choice"], 'one of "auto", "none", "required" or a function', received);
}
