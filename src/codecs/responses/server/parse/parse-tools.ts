import type { ToolDefinition } from "../../../../core/chat/chat-request.ts";
import { isJsonObject, type JsonObject } from "../../../../lib/json/json.ts";
import { checkRequest } from "../../../shared/check-request.ts";
import { type ClientTool, ToolNames } from "../tool-names.ts";
import {
  customTool,
  functionTool,
  namespaceTool,
  type ResponsesRequest,
  type WireCustomTool,
  type WireFunctionTool,
} from "../wire.ts";

type Path = readonly PropertyKey[];
type WireTool = NonNullable<ResponsesRequest["tools"]>[number];

/** A tool as it is described to the model, and as the client knows it. */
export interface OfferedTool {
  readonly definition: ToolDefinition;
  readonly tool: ClientTool;
}

export interface ParsedTools {
  readonly offered: readonly OfferedTool[];
  readonly names: ToolNames;
  /** The callable tools, as the answer repeats them. */
  readonly repeated: readonly JsonObject[];
}

/** Parses the tools. Newer clients send tools that only their vendor has; the call continues without them. */
export function parseTools({ tools }: ResponsesRequest): ParsedTools {
  const given = tools ?? [];
  const names = new ToolNames(given.flatMap((tool) => plainNameOf(tool)));
  const offered: OfferedTool[] = [];
  const repeated: JsonObject[] = [];
  for (const [index, tool] of given.entries()) {
    const parsed = parseTool(tool, ["tools", index], names);
    if (parsed === undefined) continue;
    offered.push(...parsed.offered);
    repeated.push(parsed.repeated);
  }
  return { offered, names, repeated };
}

function plainNameOf({ type, ...rest }: WireTool): string[] {
  const name = rest["name"];
  return (type == null || type === "function") && typeof name === "string" ? [name] : [];
}

interface ParsedTool {
  readonly offered: readonly OfferedTool[];
  readonly repeated: JsonObject;
}

function parseTool(tool: unknown, path: Path, names: ToolNames): ParsedTool | undefined {
  const type = isJsonObject(tool) ? (tool["type"] ?? "function") : undefined;
  switch (type) {
    case "function": {
      checkRequest(functionTool, tool, path);
      const client = { name: tool.name, isCustom: false };
      const offered = [{ definition: toDefinition(tool, tool.name), tool: client }];
      return { offered, repeated: repeatFunction(tool) };
    }
    case "custom": {
      checkRequest(customTool, tool, path);
      const client = { name: tool.name, isCustom: true };
      const offered = [{ definition: customDefinition(tool, names.offer(client)), tool: client }];
      return { offered, repeated: repeatCustom(tool) };
    }
    case "namespace":
      return parseNamespace(tool, path, names);
    default:
      return undefined;
  }
}

function parseNamespace(given: unknown, path: Path, names: ToolNames): ParsedTool {
  checkRequest(namespaceTool, given, path);
  const { name: namespace, description, tools } = given;
  const offered: OfferedTool[] = [];
  const repeated: JsonObject[] = [];
  for (const [index, member] of tools.entries()) {
    // The description of a namespace costs context, so it appears only in its first tool.
    const about = offered.length === 0 ? (description ?? undefined) : undefined;
    const parsed = parseMember(member, [...path, "tools", index], { namespace, about, names });
    if (parsed === undefined) continue;
    offered.push(...parsed.offered);
    repeated.push(parsed.repeated);
  }
  const group = { type: "namespace", name: namespace, description: description ?? "" };
  return { offered, repeated: { ...group, tools: repeated } };
}

interface Membership {
  readonly namespace: string;
  readonly about: string | undefined;
  readonly names: ToolNames;
}

function parseMember(
  member: WireTool,
  path: Path,
  { namespace, about, names }: Membership,
): ParsedTool | undefined {
  const tell = (definition: ToolDefinition): ToolDefinition =>
    about ? { ...definition, description: joinTexts(about, definition.description) } : definition;
  if (member.type === "custom") {
    checkRequest(customTool, member, path);
    const tool = { name: member.name, namespace, isCustom: true };
    const definition = tell(customDefinition(member, names.offer(tool)));
    return { offered: [{ definition, tool }], repeated: repeatCustom(member) };
  }
  if (member.type != null && member.type !== "function") return undefined;
  checkRequest(functionTool, member, path);
  const tool = { name: member.name, namespace, isCustom: false };
  const definition = tell(toDefinition(member, names.offer(tool)));
  return { offered: [{ definition, tool }], repeated: repeatFunction(member) };
}

function toDefinition(
  { description, parameters, strict }: WireFunctionTool,
  name: string,
): ToolDefinition {
  return {
    name,
    ...(description != null && { description }),
    ...(isJsonObject(parameters) && { parameters }),
    ...(strict != null && { strict }),
  };
}

/** Defines a free-text tool as a function, for models that can only call with JSON. */
function customDefinition({ description, format }: WireCustomTool, name: string): ToolDefinition {
  const grammar =
    format?.definition == null
      ? undefined
      : `\`input\` must match this grammar${format.syntax ? ` (${format.syntax})` : ""}:\n${format.definition}`;
  const told = joinTexts(description ?? undefined, grammar);
  return {
    name,
    ...(told !== "" && { description: told }),
    parameters: {
      type: "object",
      properties: {
        input: { type: "string", description: "The whole input of the tool, as plain text." },
      },
      required: ["input"],
      additionalProperties: false,
    },
  };
}

function joinTexts(...texts: readonly (string | undefined)[]): string {
  return texts.filter((text) => text !== undefined && text !== "").join("\n\n");
}

/** Repeats a function with all five members, which clients of this format expect. */
function repeatFunction(tool: WireFunctionTool): JsonObject {
  const { name, description = null, parameters, strict = null } = tool;
  return {
    type: "function",
    name,
    description,
    parameters: isJsonObject(parameters) ? parameters : null,
    strict,
  };
}

function repeatCustom({ name, description, format }: WireCustomTool): JsonObject {
  return {
    type: "custom",
    name,
    ...(description != null && { description }),
    ...(isJsonObject(format) && { format }),
  };
}
