import type {
  AssistantMessage,
  ChatMessage,
  RefusalPart,
  TextPart,
  ToolCallPart,
} from "../../../core/chat/chat-request.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import { fitCallIds } from "../../shared/fit-call-ids.ts";
import { joinOpening } from "../../shared/system-messages.ts";
import { buildContent } from "./build-content.ts";
import type { Dialect } from "./dialect.ts";
import { moveToolMedia } from "./tool-media.ts";

/** An assistant message inserted where the server accepts only the model's own words. */
const BRIDGE: AssistantMessage = { role: "assistant", content: [{ type: "text", text: "OK." }] };

/**
 * Returns the messages in the order that a strict server requires. After tool results, an assistant message comes
 * before any other role. A system message after an answer becomes a user message, and empty answers are dropped.
 */
function keepStrictTurns(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const kept: ChatMessage[] = [];
  for (const message of messages) {
    if (message.role === "assistant" && saysNothing(message)) continue;
    const before = kept.at(-1)?.role;
    const isSpoken = message.role === "user" || message.role === "system";
    if (isSpoken && before === "tool") kept.push(BRIDGE);
    const comesLate = before === "tool" || before === "assistant";
    if (message.role === "system" && comesLate) kept.push({ ...message, role: "user" });
    else kept.push(message);
  }
  return kept;
}

function saysNothing({ content }: AssistantMessage): boolean {
  return content.every(
    (part) => part.type === "reasoning" || (part.type !== "tool-call" && part.text === ""),
  );
}

/** Builds the wire messages, in order. */
export function buildMessages(messages: readonly ChatMessage[], dialect: Dialect): JsonObject[] {
  let told = dialect.joinsOpening ? joinOpening(messages) : messages;
  if (dialect.callIds !== undefined) told = fitCallIds(told, dialect.callIds);
  if (!dialect.takesMediaFromTools) told = moveToolMedia(told);
  if (!dialect.hasStrictTurns) return told.map((message) => buildMessage(message, dialect));
  return markPrefix(keepStrictTurns(told).map((message) => buildMessage(message, dialect)));
}

/** Sets `prefix`, without which strict servers refuse an answer as the last message. */
function markPrefix(messages: JsonObject[]): JsonObject[] {
  const last = messages.at(-1);
  return last?.["role"] === "assistant"
    ? [...messages.slice(0, -1), { ...last, prefix: true }]
    : messages;
}

function buildMessage(message: ChatMessage, dialect: Dialect): JsonObject {
  switch (message.role) {
    case "system":
    case "user":
      return {
        role: message.role === "system" ? dialect.systemRole : "user",
        content: buildContent(message.content, dialect),
        name: dialect.takesNames ? message.name : undefined,
      };
    case "assistant":
      return buildAssistant(message, dialect);
    case "tool":
      return {
        role: "tool",
        tool_call_id: message.callId,
        content: buildContent(message.content, dialect),
      };
  }
}

function buildAssistant({ content, name }: AssistantMessage, dialect: Dialect): JsonObject {
  const said: (TextPart | RefusalPart)[] = [];
  const calls: ToolCallPart[] = [];
  let thought = "";
  for (const part of content) {
    if (part.type === "tool-call") calls.push(part);
    else if (part.type === "reasoning") thought += part.text;
    else said.push(part);
  }
  return {
    role: "assistant",
    // For most engines, a refusal is ordinary content.
    content: calls.length > 0 && said.length === 0 ? null : buildContent(said.map(toText), dialect),
    name: dialect.takesNames ? name : undefined,
    reasoning_content: dialect.takesThoughts && thought !== "" ? thought : undefined,
    tool_calls: calls.length === 0 ? undefined : calls.map(buildCall),
  };
}

function toText({ text }: TextPart | RefusalPart): TextPart {
  return { type: "text", text };
}

function buildCall(call: ToolCallPart): JsonObject {
  return {
    id: call.callId,
    type: "function",
    // Engines parse it, and an empty string is not valid JSON.
    function: { name: call.name, arguments: call.arguments === "" ? "{}" : call.arguments },
  };
}
