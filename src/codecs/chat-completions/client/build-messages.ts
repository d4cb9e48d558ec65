import type {
  AssistantMessage,
  ChatMessage,
  RefusalPart,
  TextPart,
  ToolCallPart,
} from "../../../core/chat-request.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { fitCallIds } from "../../shared/fit-call-ids.ts";
import { buildContent } from "./build-content.ts";
import type { Dialect } from "./dialect.ts";
import { moveToolMedia } from "./tool-media.ts";

/** What the model is taken to have said where only its own words may stand. */
const BRIDGE: AssistantMessage = { role: "assistant", content: [{ type: "text", text: "OK." }] };

/**
 * The messages in turns as a strict server wants them: the model answers the results of its tools before anybody else
 * speaks, a system message comes after no answer, and no answer is empty.
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

/** The messages as the engine reads them, in their order. */
export function buildMessages(messages: readonly ChatMessage[], dialect: Dialect): JsonObject[] {
  let told = messages;
  if (dialect.callIds !== undefined) told = fitCallIds(told, dialect.callIds);
  if (!dialect.takesMediaFromTools) told = moveToolMedia(told);
  if (!dialect.hasStrictTurns) return told.map((message) => buildMessage(message, dialect));
  return markPrefix(keepStrictTurns(told).map((message) => buildMessage(message, dialect)));
}

/** Strict servers take an answer in the last place only when told to go on from it. */
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
    // What the model refused to say is, to most engines, what it said.
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
    // Engines parse it, and an empty text is no JSON.
    function: { name: call.name, arguments: call.arguments === "" ? "{}" : call.arguments },
  };
}
