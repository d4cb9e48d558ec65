import type { ToolRun } from "../../../core/chat/chat-event.ts";
import type { Usage } from "../../../core/chat/usage.ts";
import type { ServiceError } from "../../../core/service-error.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import type { AnswerContext } from "../../codec.ts";
import { encodeExtension } from "../../shared/answer-extension.ts";
import { failureCodeOf, type Outcome } from "./finish-outcome.ts";
import { withoutIgnored } from "./repeat-request.ts";
import type { ResponsesForm, ResponseText } from "./responses-form.ts";

/** The parts of a response that change while it is generated. */
export interface ResponseState {
  readonly output: readonly JsonObject[];
  /** Undefined while the response is in progress. */
  readonly outcome?: Outcome | { readonly status: "failed"; readonly error: ServiceError };
  readonly usage?: Usage | undefined;
  readonly sources?: readonly JsonObject[];
  readonly toolRuns?: readonly ToolRun[];
}

/**
 * Encodes the response objects of one call. The repeated fields of the request may be long, so they are serialised
 * once.
 */
export class ResponseEncoder {
  readonly #context: AnswerContext;
  readonly #repeated: string;
  readonly #remember: ResponsesForm["remember"];

  constructor(context: AnswerContext, { repeated, remember }: ResponsesForm) {
    this.#context = context;
    this.#repeated = JSON.stringify(withoutIgnored(repeated, context.ignored));
    this.#remember = remember;
  }

  /** Returns the JSON text of the response. A response that ended without failing is stored, if `remember` is set. */
  encode(state: ResponseState): string {
    const text = this.#encode(state);
    const { status } = state.outcome ?? { status: "in_progress" };
    if (status === "completed" || status === "incomplete") {
      this.#remember?.(this.#context.requestId, text);
    }
    return text.before + text.output + text.after;
  }

  #encode({ output, outcome, usage, sources, toolRuns }: ResponseState): ResponseText {
    const { requestId, created, model, now } = this.#context;
    const head: JsonObject = {
      id: `resp_${requestId}`,
      object: "response",
      created_at: created,
      completed_at: outcome?.status === "completed" ? (now?.() ?? created) : null,
      status: outcome?.status ?? "in_progress",
      incomplete_details: outcome?.status === "incomplete" ? { reason: outcome.reason } : null,
      error: outcome?.status === "failed" ? encodeFailure(outcome.error) : null,
      model,
    };
    const tail: JsonObject = {
      usage: usage === undefined ? null : encodeUsage(usage),
      ...encodeExtension({ sources, toolRuns, context: this.#context }),
    };
    return {
      before: `${JSON.stringify(head).slice(0, -1)},"output":`,
      output: JSON.stringify(output),
      after: `,${JSON.stringify(tail).slice(1, -1)},${this.#repeated.slice(1)}`,
    };
  }
}

function encodeFailure(error: ServiceError): JsonObject {
  return { code: failureCodeOf(error), message: error.message };
}

/** Returns the `usage` object. Clients expect its details, so a count that the engine did not report is 0. */
function encodeUsage(usage: Usage): JsonObject {
  const { inputTokens, outputTokens, cachedTokens, cacheWriteTokens, reasoningTokens } = usage;
  return {
    input_tokens: inputTokens,
    input_tokens_details: {
      cached_tokens: cachedTokens ?? 0,
      cache_write_tokens: cacheWriteTokens ?? 0,
    },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens ?? 0 },
    total_tokens: inputTokens + outputTokens,
  };
}
