import type { Model } from "../../backends/backend.ts";
import { estimateInputTokens } from "../../backends/rules/estimate-input-tokens.ts";
import { wantedOutputTokens } from "../../backends/rules/fit-output.ts";
import type {
  ChatMessage,
  ChatRequest,
  TextPart,
  UserMessage,
} from "../../core/chat/chat-request.ts";
import { type NumberedPassage, renderPassages } from "./given-passages.ts";

/** What one turn of an answer is asked from. */
export interface TurnParts {
  /** The client's request with the assistant's additions. */
  readonly request: ChatRequest;
  /** The passages of the first search, by rank. */
  passages: readonly NumberedPassage[];
  /** So many passages stay even if they do not fit: then the engine refuses the turn. */
  readonly fewestPassages: number;
  /** The earlier turns and their results. */
  history: readonly ChatMessage[];
}

const DROPPED_RESULT = "[This result was dropped, because the conversation has become too long.]";
/** The share of a context that stays for the answer, if the answer may be that long. */
const ANSWER_SHARE = 0.25;

/**
 * Builds the request of a turn. What exceeds the model's context is dropped: the passages of the lowest rank first,
 * then the oldest results of tools. What was dropped stays dropped in later turns.
 */
export function fitTurn(
  parts: TurnParts,
  model: Model,
  defaultMaxOutputTokens: number,
): ChatRequest {
  const { contextLength } = model;
  let request = buildTurn(parts);
  if (contextLength === undefined) return request;
  const wanted = wantedOutputTokens(request, model, defaultMaxOutputTokens);
  const room = contextLength - Math.min(wanted, Math.ceil(contextLength * ANSWER_SHARE));
  while (estimateInputTokens(request) > room && dropOne(parts)) request = buildTurn(parts);
  return request;
}

/** Returns false when nothing is left that could be dropped. */
function dropOne(parts: TurnParts): boolean {
  if (parts.passages.length > parts.fewestPassages) {
    parts.passages = parts.passages.slice(0, -1);
    return true;
  }
  const oldest = parts.history.findIndex(
    (message) => message.role === "tool" && textLength(message) > DROPPED_RESULT.length,
  );
  if (oldest < 0) return false;
  parts.history = parts.history.map((message, index) =>
    index === oldest && message.role === "tool"
      ? { ...message, content: [{ type: "text", text: DROPPED_RESULT }] }
      : message,
  );
  return true;
}

function textLength({ content }: ChatMessage): number {
  return content.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 0), 0);
}

function buildTurn({ request, passages, history }: TurnParts): ChatRequest {
  const messages =
    passages.length === 0 ? request.messages : withPassages(request.messages, passages);
  return history.length === 0 && messages === request.messages
    ? request
    : { ...request, messages: [...messages, ...history] };
}

/** Puts the passages before the text of the last user message; everything before it stays as it is. */
function withPassages(
  messages: readonly ChatMessage[],
  passages: readonly NumberedPassage[],
): readonly ChatMessage[] {
  const last = messages.findLastIndex(({ role }) => role === "user");
  return messages.map((message, index) =>
    index === last && message.role === "user"
      ? withTextBefore(renderPassages(passages), message)
      : message,
  );
}

/** In one part with the text where possible, because some templates take only one. */
function withTextBefore(text: string, message: UserMessage): UserMessage {
  const [first, ...rest] = message.content;
  const own: TextPart | undefined = first?.type === "text" ? first : undefined;
  if (own === undefined)
    return { ...message, content: [{ type: "text", text }, ...message.content] };
  return { ...message, content: [{ ...own, text: `${text}\n\n${own.text}` }, ...rest] };
}
