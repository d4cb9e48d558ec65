import type { ChatEvent, FinishEvent, SignatureEvent } from "../../core/chat/chat-event.ts";
import type { Usage } from "../../core/chat/usage.ts";
import { chargeTokens, estimateTokens } from "../../core/estimate-tokens.ts";
import type { TokenBudget } from "../gateway.ts";

type EndEvent = FinishEvent | Extract<ChatEvent, { type: "error" }>;

const UNLIMITED: TokenBudget = { inputTokens: Infinity, outputTokens: Infinity };

/** The usage of one round of a call, counted as its events pass. */
export class RoundUsage {
  readonly #inputTokens: number;
  readonly #budget: TokenBudget;
  #characters = 0;
  /** The pieces in which text came: engines send one for each token, vendors for several. */
  #pieces = 0;
  #bytes = 0;
  /** Bytes of the open reasoning block. */
  #reasoningBytes = 0;
  #reportedInputTokens: number | undefined;
  #end: EndEvent | undefined;
  #isAnswered = false;

  /**
   * @param inputTokens is the estimate of the prompt, for a vendor that never reports it.
   * @param budget limits an estimate, because the round could not exceed it.
   */
  constructor(inputTokens: number, budget: TokenBudget = UNLIMITED) {
    this.#inputTokens = Math.min(inputTokens, budget.inputTokens);
    this.#budget = budget;
  }

  /** True once an event other than an error has arrived, so an engine has worked on the round. */
  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  /** The event that ended the round. */
  get end(): EndEvent | undefined {
    return this.#end;
  }

  /** Estimate of the prompt. */
  get inputTokens(): number {
    return this.#inputTokens;
  }

  /** An estimate of the output tokens so far: no piece has less than one. */
  get outputTokensSoFar(): number {
    return Math.max(estimateTokens(this.#characters), this.#pieces);
  }

  /** The vendor's figures, as far as it has reported them; estimates are marked as such. */
  get usage(): Usage {
    const estimate = {
      inputTokens: this.#reportedInputTokens ?? this.#inputTokens,
      outputTokens: Math.min(this.outputTokensSoFar, this.#budget.outputTokens),
      estimated: true,
    };
    const reported = this.#end?.type === "error" ? this.#end.error.usage : this.#end?.usage;
    return reported === undefined ? estimate : withCounts(reported, estimate);
  }

  /**
   * Input and output tokens that limits are charged: for an answer without its end at least the tokens that its bytes
   * suggest.
   */
  get charge(): number {
    const { inputTokens, outputTokens } = this.usage;
    const isReported = this.#end?.type === "error" && this.#end.error.usage !== undefined;
    if (this.#end?.type === "finish" || isReported) return inputTokens + outputTokens;
    const charged = Math.min(chargeTokens(this.#bytes), this.#budget.outputTokens);
    return inputTokens + Math.max(outputTokens, charged);
  }

  observe(events: readonly ChatEvent[]): void {
    if (events[0]?.type !== "error") this.#isAnswered = true;
    for (const event of events) {
      switch (event.type) {
        case "start":
          // No prompt has 0 tokens: a server that reports 0 has not counted them yet.
          this.#reportedInputTokens = event.inputTokens || undefined;
          break;
        case "block-start":
          this.#reasoningBytes = 0;
          break;
        case "reasoning-delta":
          this.#reasoningBytes += Buffer.byteLength(event.text);
          this.#count(event.text, event.literals?.length);
          break;
        case "text-delta":
        case "refusal-delta":
          this.#count(event.text, event.literals?.length);
          break;
        case "tool-call-delta":
          this.#count(event.arguments);
          break;
        case "signature":
          // Hidden reasoning comes encrypted, at about its own length.
          this.#bytes += Math.max(0, sealBytes(event) - this.#reasoningBytes);
          break;
        case "finish":
        case "error":
          this.#end = event;
          break;
        default:
          break;
      }
    }
  }

  #count(text: string, pieces = 1): void {
    if (text === "") return;
    this.#pieces += pieces;
    this.#characters += text.length;
    this.#bytes += Buffer.byteLength(text);
  }
}

function sealBytes({ signature, redacted }: SignatureEvent): number {
  return (signature?.length ?? 0) + (redacted?.length ?? 0);
}

/** Neither a prompt nor a text has 0 tokens: a server that reports 0 has not counted it. */
function withCounts(usage: Usage, estimate: Usage): Usage {
  // Without a prompt no model was asked.
  if (estimate.inputTokens === 0) return usage;
  const inputTokens = usage.inputTokens || estimate.inputTokens;
  const outputTokens = usage.outputTokens || estimate.outputTokens;
  if (inputTokens === usage.inputTokens && outputTokens === usage.outputTokens) return usage;
  return { ...usage, inputTokens, outputTokens, estimated: true };
}

/** Returns the usage of two rounds together. */
export function sumOf(one: Usage, other: Usage): Usage {
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cachedTokens: (one.cachedTokens ?? 0) + (other.cachedTokens ?? 0),
    cacheWriteTokens: (one.cacheWriteTokens ?? 0) + (other.cacheWriteTokens ?? 0),
    reasoningTokens: (one.reasoningTokens ?? 0) + (other.reasoningTokens ?? 0),
    estimated: one.estimated === true || other.estimated === true,
  };
}
