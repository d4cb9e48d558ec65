import type {
  AssistantPart,
  ChatMessage,
  ToolMessage,
} from "../../../../core/chat/chat-request.ts";
import { checkRequest, invalidValue } from "../../../shared/check-request.ts";
import { openThought } from "../items/reasoning-seal.ts";
import type { ToolNames } from "../tool-names.ts";
import {
  callOutputItem,
  customToolCallItem,
  functionCallItem,
  messageItem,
  type ResponsesRequest,
  reasoningItem,
  type WireMessage,
} from "../wire.ts";
import { type ContentPart, parseContent } from "./parse-content.ts";
import type { Item, PlacedItem } from "./recall-items.ts";

type Path = readonly PropertyKey[];
type Parsed<Role> = Extract<ChatMessage, { readonly role: Role }>;

/** Parses the conversation of a request. Consecutive text, reasoning and calls of the model become one message. */
export function parseInput(
  { input, instructions }: ResponsesRequest,
  items: readonly PlacedItem[],
  names: ToolNames,
): ChatMessage[] {
  const conversation = joinTurns(items.map(({ item, path }) => parseItem(item, path, names)));
  if (conversation.length === 0) {
    throw invalidValue(["input"], "at least one message", input);
  }
  if (!instructions) return conversation;
  return [{ role: "system", content: [{ type: "text", text: instructions }] }, ...conversation];
}

function joinTurns(messages: readonly (ChatMessage | undefined)[]): ChatMessage[] {
  const joined: ChatMessage[] = [];
  let turn: AssistantPart[] | undefined;
  for (const message of messages) {
    if (message === undefined) continue;
    if (message.role !== "assistant") {
      turn = undefined;
      joined.push(message);
    } else if (turn === undefined) {
      turn = [...message.content];
      joined.push({ role: "assistant", content: turn });
    } else {
      turn.push(...message.content);
    }
  }
  return joined;
}

/** Returns undefined for an item that only its vendor understands, such as a call of a hosted tool. */
function parseItem(item: Item, path: Path, names: ToolNames): ChatMessage | undefined {
  switch (item.type) {
    case undefined:
    case null:
    case "message":
      return parseMessage(item, path);
    case "function_call":
      return parseFunctionCall(item, path, names);
    case "custom_tool_call":
      return parseCustomCall(item, path, names);
    case "function_call_output":
    case "custom_tool_call_output":
      return parseOutput(item, path);
    case "reasoning":
      return parseReasoning(item, path);
    default:
      return undefined;
  }
}

function parseMessage(item: unknown, path: Path): ChatMessage {
  checkRequest(messageItem, item, path);
  const message: WireMessage = item;
  const content = parseContent(message.content, [...path, "content"]);
  switch (message.role) {
    case "system":
    case "developer":
      return { role: "system", content: content.filter(isOf("text")) };
    case "user":
      return { role: "user", content: content.filter(isOf("text", "image", "document", "audio")) };
    case "assistant":
      return { role: "assistant", content: content.filter(isOf("text", "refusal")) };
  }
}

function parseFunctionCall(item: unknown, path: Path, names: ToolNames): ChatMessage {
  checkRequest(functionCallItem, item, path);
  const { name, namespace, call_id, arguments: text } = item;
  const tool = { name, namespace: namespace || undefined, isCustom: false };
  return toCall(call_id, names.nameFor(tool), text);
}

/** Parses a custom call. The model knows a custom tool as a function with one argument. */
function parseCustomCall(item: unknown, path: Path, names: ToolNames): ChatMessage {
  checkRequest(customToolCallItem, item, path);
  const { name, namespace, call_id, input } = item;
  const tool = { name, namespace: namespace || undefined, isCustom: true };
  return toCall(call_id, names.nameFor(tool), JSON.stringify({ input }));
}

function toCall(callId: string, name: string, text: string): ChatMessage {
  return { role: "assistant", content: [{ type: "tool-call", callId, name, arguments: text }] };
}

function parseOutput(item: unknown, path: Path): ToolMessage {
  checkRequest(callOutputItem, item, path);
  const content = parseContent(item.output, [...path, "output"]);
  const kept: Parsed<"tool">["content"] = content.filter(isOf("text", "image", "document"));
  return { role: "tool", callId: item.call_id, content: kept };
}

/**
 * Parses reasoning. If its seal is not the gateway's or is damaged, only its text is used; without text it is dropped.
 */
function parseReasoning(item: unknown, path: Path): ChatMessage | undefined {
  checkRequest(reasoningItem, item, path);
  const { encrypted_content, summary, content } = item;
  const parts = content == null || content.length === 0 ? summary : content;
  const told = (parts ?? []).map(({ text }) => text).join("\n\n");
  const thought = openThought(encrypted_content) ?? { text: told };
  if (Object.keys(thought).length === 1 && thought.text === "") return undefined;
  return { role: "assistant", content: [{ type: "reasoning", ...thought }] };
}

function isOf<Type extends ContentPart["type"]>(...types: readonly Type[]) {
  return (part: ContentPart): part is Extract<ContentPart, { readonly type: Type }> =>
    types.some((type) => type === part.type);
}
