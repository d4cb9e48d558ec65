import type {
  AssistantPart,
  ChatMessage,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolMessage,
  UserPart,
} from "../../core/chat/chat-request.ts";
import { tellSystem } from "./system-messages.ts";

/** A conversation for vendors that require two alternating roles and a system prompt before them. */
export interface Conversation {
  /** The system messages before any other message. */
  readonly system: readonly TextPart[];
  /** Never empty; the first turn is the user's. No text is blank. */
  readonly turns: readonly Turn[];
}

export type Turn = UserTurn | AssistantTurn;

export interface UserTurn {
  readonly role: "user";
  /** One for each call of the previous turn, in the order of the calls. */
  readonly results: readonly CallResult[];
  /** The user's content in addition to the results. */
  readonly content: readonly UserPart[];
  /** The system text after the content. Empty unless `midSystem` was requested. */
  readonly system: readonly TextPart[];
}

export interface AssistantTurn {
  readonly role: "assistant";
  readonly content: readonly AssistantPart[];
}

export interface CallResult {
  readonly call: ToolCallPart;
  /** Undefined when the conversation has no result, because the client cancelled the call. */
  readonly message: ToolMessage | undefined;
}

/** Fills a user turn without content, which vendors refuse. */
const EMPTY_TURN: TextPart = { type: "text", text: "(empty message)" };

/**
 * Merges messages into turns. Every call gets its result, or the lack of one, in the turn right after it. A result
 * without a matching call in that turn becomes text; so does a later system message, unless `midSystem` keeps it as
 * such.
 */
export function alternateTurns(
  messages: readonly ChatMessage[],
  keepsReasoning: (part: ReasoningPart) => boolean,
  midSystem = false,
): Conversation {
  const firstSpoken = messages.findIndex(({ role }) => role !== "system");
  // There must be a turn: when all messages are system messages, the last one becomes text.
  const opening = messages.slice(0, firstSpoken < 0 ? -1 : firstSpoken);
  const turns = new Turns();
  for (const message of messages.slice(opening.length)) {
    switch (message.role) {
      case "system":
        if (midSystem) turns.saySystem(message.content.filter(isSaid));
        else turns.say(tellSystem(message.content));
        break;
      case "user":
        turns.say(message.content.filter(isSaid));
        break;
      case "tool":
        turns.giveResult(message);
        break;
      case "assistant":
        turns.answer(
          message.content.filter((part) =>
            part.type === "reasoning" ? keepsReasoning(part) : isSaid(part),
          ),
        );
        break;
    }
  }
  return {
    system: opening.flatMap((message) =>
      message.role === "system" ? message.content.filter(isSaid) : [],
    ),
    turns: turns.end(),
  };
}

interface ResultDraft {
  readonly call: ToolCallPart;
  message: ToolMessage | undefined;
}

interface UserDraft {
  readonly role: "user";
  readonly results: readonly ResultDraft[];
  readonly content: UserPart[];
  system: TextPart[];
}

interface AssistantDraft {
  readonly role: "assistant";
  readonly content: AssistantPart[];
}

class Turns {
  readonly #turns: (UserDraft | AssistantDraft)[] = [];
  /**
   * The calls of the last turn that have no result, by id, with the first call of an id last. A turn may have
   * thousands.
   */
  #open = new Map<string, ResultDraft[]>();

  say(parts: readonly UserPart[]): void {
    this.#userTurn().content.push(...parts);
  }

  /**
   * Adds system text after the user's turn, where the vendor requires it, wherever the client placed it in the turn.
   */
  saySystem(parts: readonly TextPart[]): void {
    if (parts.length > 0) this.#userTurn().system.push(...parts);
  }

  giveResult(message: ToolMessage): void {
    const { content } = this.#userTurn();
    const result = this.#open.get(message.callId)?.pop();
    if (result === undefined) content.push(...tellResult(message));
    else result.message = message;
  }

  answer(parts: readonly AssistantPart[]): void {
    if (parts.length > 0) this.#assistantTurn().content.push(...parts);
  }

  end(): readonly Turn[] {
    const last = this.#turns.at(-1);
    if (last === undefined || callsOf(last).length > 0) this.#userTurn();
    for (const turn of this.#turns) {
      if (turn.role !== "user" || turn.results.length + turn.content.length > 0) continue;
      // The system text has no user turn to follow.
      turn.content.push(...tellSystem(turn.system));
      turn.system = [];
      if (turn.content.length === 0) turn.content.push(EMPTY_TURN);
    }
    return this.#turns;
  }

  #userTurn(): UserDraft {
    const last = this.#turns.at(-1);
    if (last?.role === "user") return last;
    const results = callsOf(last).map((call): ResultDraft => ({ call, message: undefined }));
    const turn: UserDraft = { role: "user", results, content: [], system: [] };
    this.#turns.push(turn);
    this.#open = byCallId(results);
    return turn;
  }

  #assistantTurn(): AssistantDraft {
    const last = this.#turns.at(-1);
    if (last?.role === "assistant") return last;
    if (last === undefined) this.#userTurn();
    const turn: AssistantDraft = { role: "assistant", content: [] };
    this.#turns.push(turn);
    return turn;
  }
}

function byCallId(results: readonly ResultDraft[]): Map<string, ResultDraft[]> {
  const open = new Map<string, ResultDraft[]>();
  for (const result of results.toReversed()) {
    const { callId } = result.call;
    const same = open.get(callId);
    if (same === undefined) open.set(callId, [result]);
    else same.push(result);
  }
  return open;
}

function callsOf(turn: UserDraft | AssistantDraft | undefined): ToolCallPart[] {
  if (turn?.role !== "assistant") return [];
  return turn.content.filter((part) => part.type === "tool-call");
}

function isSaid(part: UserPart | AssistantPart): boolean {
  return !(part.type === "text" || part.type === "refusal") || part.text.trim() !== "";
}

function tellResult({ callId, content, cacheControl }: ToolMessage): readonly UserPart[] {
  const text = `Result of the tool call ${callId}, which is not in this conversation:`;
  return [{ type: "text", text, cacheControl }, ...content.filter(isSaid)];
}
