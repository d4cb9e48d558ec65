import type {
  AssistantPart,
  ChatMessage,
  ReasoningPart,
  RefusalPart,
  TextPart,
  ToolCallPart,
  ToolMessage,
  UserPart,
} from "../../../core/chat/chat-request.ts";
import { type ContentPart, parseContent } from "./parse-content.ts";
import type { WireMessage } from "./wire.ts";

type AssistantWire = Extract<WireMessage, { role: "assistant" }>;
type FunctionWire = Extract<WireMessage, { role: "function" }>;

export function parseMessages(messages: readonly WireMessage[]): ChatMessage[] {
  /** Where each function was called last. */
  const calls = new Map<string, number>();
  return messages.map((message, index) => {
    if (message.role === "function") {
      return parseFunctionResult(message, calls.get(message.name) ?? index);
    }
    if (message.role === "assistant" && message.function_call != null) {
      calls.set(message.function_call.name, index);
    }
    return parseMessage(message, index);
  });
}

/**
 * Parses the result of a legacy function call. That form has no ids: a result belongs to the last call of its function.
 */
function parseFunctionResult({ content }: FunctionWire, call: number): ToolMessage {
  const callId = functionCallId(call);
  return { role: "tool", callId, content: content ? [{ type: "text", text: content }] : [] };
}

function functionCallId(index: number): string {
  return `call_function_${index}`;
}

function parseMessage(message: Exclude<WireMessage, FunctionWire>, index: number): ChatMessage {
  const path = ["messages", index];
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
      return { role: "assistant", content: parseAssistant(message, index), ...named(message.name) };
    case "tool": {
      const content = parseContent(message.content, [...path, "content"]).filter(isToolPart);
      return { role: "tool", callId: message.tool_call_id, content };
    }
  }
}

/** Parses an assistant message: reasoning, then content, then calls, the order in which a model writes them. */
function parseAssistant(message: AssistantWire, index: number): AssistantPart[] {
  const path = ["messages", index];
  const { reasoning_content, reasoning, refusal, tool_calls, function_call } = message;
  const thought = reasoning_content || reasoning;
  const parts: AssistantPart[] = [];
  if (typeof thought === "string" && thought !== "")
    parts.push({ type: "reasoning", text: thought });
  parts.push(...parseContent(message.content, [...path, "content"]).filter(isAssistantPart));
  if (refusal) parts.push({ type: "refusal", text: refusal });
  parts.push(...(tool_calls ?? []).map(parseCall));
  if (function_call != null) {
    parts.push(parseCall({ id: functionCallId(index), function: function_call }));
  }
  return parts;
}

type WireCall = NonNullable<AssistantWire["tool_calls"]>[number];

function parseCall(call: WireCall): ToolCallPart {
  const { id: callId } = call;
  if (call.type === "custom") {
    // The form in which a model calls a custom tool that is offered to it as a function.
    const { name, input } = call.custom;
    return { type: "tool-call", callId, name, arguments: JSON.stringify({ input }) };
  }
  const { name, arguments: text } = call.function;
  return {
    type: "tool-call",
    callId,
    name,
    arguments: typeof text === "object" && text !== null ? JSON.stringify(text) : (text ?? ""),
  };
}

function named(name: string | null | undefined): { readonly name?: string } {
  return name == null ? {} : { name };
}

function isThought(part: ContentPart): part is ReasoningPart {
  return part.type === "reasoning" && part.text !== "";
}

function isText(part: ContentPart): part is TextPart {
  return part.type === "text";
}

function isUserPart(part: ContentPart): part is UserPart {
  return part.type !== "refusal" && part.type !== "reasoning";
}

function isToolPart(part: ContentPart): part is ToolMessage["content"][number] {
  return part.type === "text" || part.type === "image" || part.type === "document";
}

function isAssistantPart(part: ContentPart): part is TextPart | RefusalPart | ReasoningPart {
  return part.type === "text" || part.type === "refusal" || isThought(part);
}
