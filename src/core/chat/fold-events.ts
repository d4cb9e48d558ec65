import type { JsonObject } from "../../lib/json/json.ts";
import { receive, type Source, type Taker } from "../../lib/receive.ts";
import { ServiceError } from "../service-error.ts";
import type { AnswerBlock, ChatAnswer } from "./chat-answer.ts";
import type { ChatEvent, ChatEvents, FinishEvent, SearchEvent, ToolRun } from "./chat-event.ts";

type Step = IteratorResult<readonly ChatEvent[]>;

/** Combines a stream of events into a complete answer. Rejects with the `ServiceError` of an `error` event. */
export function foldEvents(events: ChatEvents): Promise<ChatAnswer> {
  return new Promise((resolve, reject) => {
    new Folding(events, { take: resolve, fail: reject }).read();
  });
}

// Not a loop with `for await`: nearly all answers are one batch, for which it would make several promises.
class Folding implements Taker<Step> {
  readonly #source: AsyncIterator<readonly ChatEvent[]> & Source<Step>;
  readonly #result: Taker<ChatAnswer>;
  readonly #draft: Draft = {
    blocks: [],
    sources: [],
    toolRuns: [],
    search: undefined,
    extra: undefined,
    finish: undefined,
  };

  constructor(events: ChatEvents, result: Taker<ChatAnswer>) {
    this.#source = events[Symbol.asyncIterator]();
    this.#result = result;
  }

  read(): void {
    receive(this.#source, this);
  }

  take({ done, value }: Step): void {
    if (done === true) {
      this.#end();
      return;
    }
    try {
      for (const event of value) add(this.#draft, event);
    } catch (thrown) {
      this.#result.fail(thrown);
      this.#source.return?.().catch(() => {});
      return;
    }
    this.read();
  }

  fail(thrown: unknown): void {
    this.#result.fail(thrown);
  }

  #end(): void {
    const { finish, ...rest } = this.#draft;
    if (finish === undefined) {
      this.fail(new ServiceError("upstream_error", "The engine's answer broke off."));
      return;
    }
    const { reason, stopSequence, refusal, usage, extra } = finish;
    this.#result.take({ ...rest, finish: { reason, stopSequence, refusal, usage, extra } });
  }
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
