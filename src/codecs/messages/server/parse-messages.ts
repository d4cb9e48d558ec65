import type {
  AssistantPart,
  ChatMessage,
  SystemMessage,
  ToolMessage,
  UserPart,
} from "../../../core/chat/chat-request.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import { fileIdRefused } from "../../shared/parse-file.ts";
import {
  type Mark,
  markLastPart,
  parseBlock,
  parseContent,
  parseText,
  readCacheControl,
} from "./parse-blocks.ts";
import type { ReadInput } from "./raw-inputs.ts";
import { readToolId } from "./tool-ids.ts";
import type { MessagesRequest, WireMessage } from "./wire.ts";
import {
  type AssistantBlock,
  isHostedBlock,
  type ToolResultBlock,
  type UserBlock,
} from "./wire-blocks.ts";

type Path = readonly PropertyKey[];
type Turn<Role> = Extract<WireMessage, { role: Role }>;

/**
 * A coding agent starts its system prompt with a line for its vendor's billing. The line changes between calls, so it
 * would invalidate every prompt cache.
 */
const BILLING_LINE = /^x-anthropic-billing-header:/;

/** Parses the conversation, with the system prompt first. */
export function parseMessages(
  { system, messages, cache_control }: MessagesRequest,
  readInput: ReadInput,
): ChatMessage[] {
  const lastUser = messages.findLastIndex(({ role }) => role === "user");
  const conversation = messages.flatMap((message, index) =>
    isCleared(message) && index < lastUser ? [] : parseMessage(message, index, readInput),
  );
  const last = conversation.pop();
  if (last !== undefined) conversation.push(markLast(last, readCacheControl({ cache_control })));
  return [...parseSystem(system), ...conversation];
}

/** Applies a cache breakpoint of the whole body to the last block. The block's own breakpoint wins. */
function markLast(message: ChatMessage, mark: Mark): ChatMessage {
  switch (message.role) {
    case "user":
      return { ...message, content: markLastPart(message.content, mark) };
    case "system":
      return { ...message, content: markLastPart(message.content, mark) };
    case "tool":
      return { ...mark, ...message };
    case "assistant":
      return message;
  }
}

function parseMessage(message: WireMessage, index: number, readInput: ReadInput): ChatMessage[] {
  switch (message.role) {
    case "user":
      return parseUser(message, ["messages", index, "content"]);
    case "assistant":
      return [parseAssistant(message, index, readInput)];
    case "system":
      return parseSystem(message.content);
  }
}

/** Returns true for a system message that applies only to the turn it stands in. */
function isCleared(message: WireMessage): boolean {
  return message.role === "system" && message.clear_at === "next_user_message";
}

/** Parses system texts. The content may also hold changes of tools, which `applyChanges` reads. */
function parseSystem(
  content: MessagesRequest["system"] | Turn<"system">["content"],
): SystemMessage[] {
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);
  const parts = blocks.flatMap((block) => (block.type === "text" ? parseText(block) : []));
  const said = parts.filter(({ text }) => !BILLING_LINE.test(text));
  return said.length === 0 ? [] : [{ role: "system", content: said }];
}

/**
 * Parses a user turn. Tool results become messages of their own; content before, between and after them keeps its
 * place.
 */
function parseUser({ content }: Turn<"user">, path: Path): ChatMessage[] {
  if (typeof content === "string") return [{ role: "user", content: parseContent(content, path) }];
  const messages: ChatMessage[] = [];
  let parts: UserPart[] = [];
  const endParts = () => {
    if (parts.length > 0) messages.push({ role: "user", content: parts });
    parts = [];
  };
  for (const [index, block] of content.entries()) {
    // Dropped, the model would answer without the file that it is asked about.
    if (block.type === "container_upload") {
      throw fileIdRefused([...path, index, "file_id"], "the file itself in a 'document' block");
    }
    if (!isKnown<UserBlock>(block)) continue;
    if (block.type === "tool_result") {
      endParts();
      messages.push(parseResult(block, [...path, index, "content"]));
    } else {
      parts.push(...parseBlock(block, [...path, index]));
    }
  }
  endParts();
  return messages.length === 0 ? [{ role: "user", content: [] }] : messages;
}

function parseResult(block: ToolResultBlock, path: Path): ToolMessage {
  return {
    role: "tool",
    callId: readToolId(block.tool_use_id),
    content: parseContent(block.content, path),
    ...(block.is_error === true && { isError: true }),
    ...readCacheControl(block),
  };
}

function parseAssistant(
  { content }: Turn<"assistant">,
  message: number,
  readInput: ReadInput,
): ChatMessage {
  if (typeof content === "string") {
    return { role: "assistant", content: parseText({ text: content }) };
  }
  return {
    role: "assistant",
    content: content.flatMap((block, index) =>
      isKnown<AssistantBlock>(block)
        ? parseAssistantBlock(block, (input) => readInput(message, index, input))
        : [],
    ),
  };
}

function parseAssistantBlock(
  block: AssistantBlock,
  readInput: (input: JsonObject) => string,
): AssistantPart[] {
  switch (block.type) {
    case "text":
      return parseText(block);
    case "compaction":
      return parseText({ ...block, text: block.content });
    case "thinking": {
      const { thinking: text, signature } = block;
      return [{ type: "reasoning", text, ...(signature && { signature }) }];
    }
    case "redacted_thinking":
      return [{ type: "reasoning", text: "", redacted: block.data }];
    case "tool_use":
      return [
        {
          type: "tool-call",
          callId: readToolId(block.id),
          name: block.name,
          arguments: readInput(block.input as JsonObject),
          ...readCacheControl(block),
        },
      ];
  }
}

/** The schema accepts hosted blocks as objects of any shape; it knows all other blocks. */
function isKnown<Block extends UserBlock | AssistantBlock>(
  block: Block | Readonly<Record<string, unknown>>,
): block is Block {
  return !isHostedBlock(block);
}
