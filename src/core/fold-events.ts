import type { JsonObject } from "../lib/json.ts";
import type { AnswerBlock, ChatAnswer } from "./chat-answer.ts";
import type { ChatEvent, ChatEvents, FinishEvent, SearchEvent, ToolRun } from "./chat-event.ts";
import { ServiceError } from "./service-error.ts";

/** Combines a stream of events into a complete answer. Throws the `ServiceError` of an `error` event. */
export async function foldEvents(events: ChatEvents): Promise<ChatAnswer> {
  const draft: Draft = {
    blocks: [],
    sources: [],
    toolRuns: [],
    search: undefined,
    extra: undefined,
    finish: undefined,
  };
  for await (const batch of events) {
    for (const event of batch) add(draft, event);
  }
  const { blocks, sources, toolRuns, search, extra, finish } = draft;
  if (finish === undefined) {
    throw new ServiceError("upstream_error", "The engine's answer broke off.");
  }
  const { reason, stopSequence, usage } = finish;
  return {
    blocks,
    sources,
    toolRuns,
    search,
    extra,
    finish: { reason, stopSequence, usage, extra: finish.extra },
  };
}

interface Draft {
  /** Indexed by block number. */
  readonly blocks: Growing<AnswerBlock>[];
  readonly sources: JsonObject[];
  readonly toolRuns: ToolRun[];
  search: SearchEvent | undefined;
  extra: JsonObject | undefined;
  finish: FinishEvent | undefined;
}

type Growing<Block> = Block extends { readonly extras: unknown }
  ? { -readonly [Key in keyof Block]: Block[Key] } & { extras: JsonObject[] }
  : { -readonly [Key in keyof Block]: Block[Key] };

function add(draft: Draft, event: ChatEvent): void {
  const { blocks } = draft;
  switch (event.type) {
    case "start":
      draft.extra = event.extra;
      break;
    case "block-start":
      blocks[event.block] = { kind: event.kind, text: "", extras: [] };
      break;
    case "tool-call-start": {
      const { callId, name, signature } = event;
      blocks[event.block] = { kind: "tool-call", callId, name, arguments: "", signature };
      break;
    }
    case "text-delta":
    case "reasoning-delta":
    case "refusal-delta":
    case "tool-call-delta":
    case "signature":
      grow(blocks[event.block], event);
      break;
    case "block-end":
      break;
    case "search":
      draft.search = event;
      break;
    case "tool-run":
      if (event.run.status !== "running") draft.toolRuns.push(event.run);
      break;
    case "source":
      draft.sources.push(event.source);
      break;
    case "finish":
      draft.finish = event;
      break;
    case "error":
      throw event.error;
  }
}

type Piece = Extract<ChatEvent, { readonly block: number }>;

function grow(block: Growing<AnswerBlock> | undefined, piece: Piece): void {
  if (block === undefined) return;
  if (block.kind === "tool-call") {
    if (piece.type === "tool-call-delta") block.arguments += piece.arguments;
    return;
  }
  if (piece.type === "signature") {
    block.signature = piece.signature ?? block.signature;
    block.redacted = piece.redacted ?? block.redacted;
  } else if ("text" in piece) {
    block.text += piece.text;
    if (piece.extra !== undefined) block.extras.push(piece.extra);
  }
}
