import type {
  AssistantPart,
  DocumentPart,
  ImagePart,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  UserPart,
} from "../../../core/chat/chat-request.ts";
import { openSeal } from "../../../core/chat/seal.ts";
import type { CallResult, Turn } from "../../shared/alternate-turns.ts";
import { objectText } from "../../shared/object-text.ts";
import type { Block } from "./build-blocks.ts";
import { buildMedia } from "./build-media.ts";

export interface WireTurn {
  readonly role: Turn["role"] | "system";
  readonly content: readonly Block[];
}

type CallIds = ReadonlyMap<ToolCallPart, string>;

const NO_RESULT = "There is no result: the call was broken off.";
const EMPTY_ERROR = "The tool failed without a word.";

/** Reports whether the vendor sealed this reasoning itself; it refuses any other. */
export function isOwnReasoning({ signature, redacted }: ReasoningPart): boolean {
  return openSeal("anthropic", signature ?? redacted) !== undefined;
}

/** Builds the wire messages. Throws a `ServiceError` that names a part the vendor does not accept. */
export function buildTurns(turns: readonly Turn[]): WireTurn[] {
  const ids = buildCallIds(turns);
  return turns.flatMap((turn): WireTurn[] => {
    if (turn.role === "assistant") {
      return [{ role: "assistant", content: turn.content.map((part) => buildPartOf(part, ids)) }];
    }
    const results = turn.results.map((result) => buildResult(result, ids));
    const said: WireTurn = { role: "user", content: [...results, ...buildParts(turn.content)] };
    return turn.system.length === 0
      ? [said]
      : [said, { role: "system", content: turn.system.map(buildText) }];
  });
}

export function buildText({ text, cacheControl }: TextPart): Block {
  return { fields: { type: "text", text }, cacheControl };
}

function buildParts(parts: readonly UserPart[]): Block[] {
  return parts.map((part) => (part.type === "text" ? buildText(part) : buildMedia(part)));
}

function buildPartOf(part: AssistantPart, ids: CallIds): Block {
  switch (part.type) {
    case "text":
      return buildText(part);
    case "refusal":
      return { fields: { type: "text", text: part.text } };
    case "reasoning":
      return { fields: buildReasoning(part) };
    case "tool-call":
      return {
        fields: { type: "tool_use", id: ids.get(part), name: part.name },
        input: objectText(part.arguments),
        cacheControl: part.cacheControl,
      };
  }
}

function buildReasoning({ text, signature, redacted }: ReasoningPart): Block["fields"] {
  const seal = openSeal("anthropic", signature);
  return seal === undefined
    ? { type: "redacted_thinking", data: openSeal("anthropic", redacted) }
    : { type: "thinking", thinking: text, signature: seal };
}

function buildResult({ call, message }: CallResult, ids: CallIds): Block {
  const fields = { type: "tool_result", tool_use_id: ids.get(call) };
  if (message === undefined) {
    return { fields: { ...fields, is_error: true }, content: [textBlock(NO_RESULT)] };
  }
  const said = message.content.filter(isSaid);
  const content = buildParts(said);
  // The content of an error must not be empty and must be only text.
  const isError = message.isError === true && said.every((part) => part.type === "text");
  if (isError && content.length === 0) content.push(textBlock(EMPTY_ERROR));
  return {
    fields: isError ? { ...fields, is_error: true } : fields,
    content: content.length === 0 ? undefined : content,
    cacheControl: message.cacheControl,
  };
}

function textBlock(text: string): Block {
  return buildText({ type: "text", text });
}

function isSaid(part: TextPart | ImagePart | DocumentPart): boolean {
  return part.type !== "text" || part.text.trim() !== "";
}

/**
 * Assigns the ids under which the calls are sent: with characters the vendor accepts, and unique in the conversation.
 */
function buildCallIds(turns: readonly Turn[]): ReadonlyMap<ToolCallPart, string> {
  const ids = new Map<ToolCallPart, string>();
  const taken = new Set<string>();
  for (const part of turns.flatMap((turn) => (turn.role === "assistant" ? turn.content : []))) {
    if (part.type !== "tool-call") continue;
    const fitted = part.callId.replace(/[^a-zA-Z0-9_-]/g, "_") || "call";
    // The suffix starts at the number of earlier calls, so that few tries are needed.
    let id = fitted;
    for (let number = taken.size; taken.has(id); number++) id = `${fitted}_${number}`;
    taken.add(id);
    ids.set(part, id);
  }
  return ids;
}
