import type { ToolChoice, ToolDefinition } from "../../../../core/chat/chat-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../../lib/json/json.ts";
import { invalidValue } from "../../../shared/check-request.ts";
import type { ResponsesRequest } from "../wire.ts";
import type { OfferedTool } from "./parse-tools.ts";

interface ParsedChoice {
  /** The tools that may be called. */
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice: ToolChoice | undefined;
  /** The choice as the answer repeats it. */
  readonly repeated: JsonValue;
}

const CHOICES: ReadonlyMap<unknown, ToolChoice> = new Map([
  ["auto", { type: "auto" }],
  ["none", { type: "none" }],
  ["required", { type: "required" }],
  ["any", { type: "required" }],
]);

/** Parses the tool choice. A choice without tools has no meaning and is dropped; so is the choice of a hosted tool. */
export function parseToolChoice(
  choice: ResponsesRequest["tool_choice"],
  offered: readonly OfferedTool[],
): ParsedChoice {
  const tools = offered.map(({ definition }) => definition);
  const free = { tools, toolChoice: undefined, repeated: "auto" };
  if (choice == null || tools.length === 0) return free;
  if (typeof choice === "string") {
    const toolChoice = CHOICES.get(choice);
    if (toolChoice !== undefined) return { tools, toolChoice, repeated: toolChoice.type };
    throw invalidValue(["tool_choice"], 'one of "auto", "none", "required" or an object', choice);
  }
  switch (choice.type) {
    case "function":
    case "custom": {
      const { definition, tool } = findTool(choice, offered);
      const repeated = { type: choice.type, name: tool.name };
      return { tools, toolChoice: { type: "tool", name: definition.name }, repeated };
    }
    case "allowed_tools":
      return parseAllowed(choice, offered);
    default:
      return free;
  }
}

function findTool(choice: object, offered: readonly OfferedTool[]): OfferedTool {
  const isMeant = meaning([choice]);
  const found = offered.find(({ tool }) => isMeant(tool));
  if (found !== undefined) return found;
  const name: unknown = Reflect.get(choice, "name");
  throw invalidValue(["tool_choice", "name"], "the name of one of `tools`", name);
}

function parseAllowed(choice: object, offered: readonly OfferedTool[]): ParsedChoice {
  const mode: unknown = Reflect.get(choice, "mode") ?? "auto";
  const toolChoice = CHOICES.get(mode);
  if (toolChoice === undefined) {
    throw invalidValue(["tool_choice", "mode"], 'one of "auto", "required"', mode);
  }
  const allowed: unknown = Reflect.get(choice, "tools");
  if (!Array.isArray(allowed)) {
    throw invalidValue(["tool_choice", "tools"], "an array", allowed);
  }
  const isMeant = meaning(allowed);
  const kept = offered.filter(({ tool }) => isMeant(tool));
  return {
    tools: kept.map(({ definition }) => definition),
    toolChoice: kept.length === 0 ? undefined : toolChoice,
    repeated: {
      type: "allowed_tools",
      mode: toolChoice.type,
      tools: kept.map(({ tool }) => repeatTool(tool)),
    },
  };
}

function repeatTool({ name, isCustom }: OfferedTool["tool"]): JsonObject {
  return { type: isCustom ? "custom" : "function", name };
}

/**
 * Returns a test for the tools that the choices `{type, name, namespace?}` select. Both may be many, so no choice is
 * examined twice.
 */
function meaning(choices: readonly unknown[]): (tool: OfferedTool["tool"]) => boolean {
  const meant = new Set(choices.filter(isJsonObject).map(keyOfChoice));
  return ({ name, namespace, isCustom }) =>
    meant.has(keyOf(isCustom, name, null)) ||
    (namespace !== undefined &&
      (meant.has(keyOf(isCustom, name, namespace)) || meant.has(keyOf("namespace", namespace))));
}

function keyOfChoice({ type, name, namespace }: JsonObject): string {
  if (type === "namespace") return keyOf("namespace", name);
  return keyOf(type === "custom", name, namespace ?? null);
}

function keyOf(...words: readonly (JsonValue | undefined)[]): string {
  return JSON.stringify(words);
}
