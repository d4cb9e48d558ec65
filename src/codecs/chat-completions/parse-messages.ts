import type {
  AssistantPart,
  ChatMessage,
  RefusalPart,
  TextPart,
  ToolCallPart,
  ToolMessage,
  UserPart,
} from "../../core/chat-request.ts";
import { invalidValue } from "../check-request.ts";
import { type ContentPart, parseContent } from "./parse-content.ts";
import type { WireMessage } from "./wire.ts";

type Path = readonly PropertyKey[];
type AssistantWire = Extract<WireMessage, { role: "assistant" }>;

export function parseMessages(messages: readonly WireMessage[]): ChatMessage[] {
  return messages.map((message, index) => parseMessage(message, ["messages", index]));
}

function parseMessage(message: WireMessage, path: Path): ChatMessage {
  switch (message.role) {
    case "system":
    case "developer": {
      const content = parseContent(message.content, path).filter(isText);
      return { role: "system", content, ...named(message.name) };
    }
    case "user": {
      const content = parseContent(message.content, [...path, "content"]).filter(isUserPart);
      return { role: "user", content, ...named(message.name) };
    }
    case "assistant":
      return { role: "assistant", content: parseAssistant(message, path), ...named(message.name) };
    case "tool": {
      const content = parseContent(message.content, [...path, "content"]).filter(isToolPart);
      return { role: "tool", callId: message.tool_call_id, content };
    }
  }
}

/** Thought first, then what was said, then the calls: the order in which a model writes them. */
function parseAssistant(message: AssistantWire, path: Path): AssistantPart[] {
  refuseFunctionCall(message, path);
  const { reasoning_content, reasoning, refusal, tool_calls } = message;
  const thought = reasoning_content || reasoning;
  const parts: AssistantPart[] = [];
  if (typeof thought === "string" && thought !== "")
    parts.push({ type: "reasoning", text: thought });
  parts.push(...parseContent(message.content, [...path, "content"]).filter(isAssistantPart));
  if (refusal) parts.push({ type: "refusal", text: refusal });
  parts.push(...(tool_calls ?? []).map(parseCall));
  return parts;
}

type WireCall = NonNullable<AssistantWire["tool_calls"]>[number];

function parseCall({ id, function: called }: WireCall): ToolCallPart {
  const { name, arguments: text } = called;
  return {
    type: "tool-call",
    callId: id,
    name,
    arguments: typeof text === "object" && text !== null ? JSON.stringify(text) : (text ?? ""),
  };
}

/** The form before tools. A call that is silently left out would make nonsense of the conversation. */
function refuseFunctionCall({ function_call }: AssistantWire, path: Path): void {
  if (function_call == null) return;
  throw invalidValue([...path, "function_call"], "`tool_calls` in its place", function_call);
}

function named(name: string | null | undefined): { readonly name?: string } {
  return name == null ? {} : { name };
}

function isText(part: ContentPart): part is TextPart {
  return part.type === "text";
}

function isUserPart(part: ContentPart): part is UserPart {
  return part.type !== "refusal";
}

function isToolPart(part: ContentPart): part is ToolMessage["content"][number] {
  return part.type === "text" || part.type === "image" || part.type === "document";
}

function isAssistantPart(part: ContentPart): part is TextPart | RefusalPart {
  return part.type === "text" || part.type === "refusal";
}
