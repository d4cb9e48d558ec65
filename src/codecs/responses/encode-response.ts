import type { Usage } from "../../core/chat-event.ts";
import type { ServiceError } from "../../core/service-error.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { AnswerContext } from "../codec.ts";
import { encodeUsage } from "./encode-usage.ts";
import { failureCodeOf, type Outcome } from "./finish-outcome.ts";

/** What changes about a response while it is made. */
export interface ResponseState {
  readonly output: readonly JsonObject[];
  /** Undefined while it is not over. */
  readonly outcome?: Outcome | { readonly status: "failed"; readonly error: ServiceError };
  readonly usage?: Usage | undefined;
  readonly sources?: readonly JsonObject[];
}

/** Writes the response objects of one call. What they repeat of the question may be long, and is serialised once. */
export class ResponseEncoder {
  readonly #context: AnswerContext;
  readonly #repeated: string;

  constructor(context: AnswerContext, repeated: JsonObject) {
    this.#context = context;
    this.#repeated = JSON.stringify(repeated);
  }

  /** The JSON text of the response. */
  encode({ output, outcome, usage, sources = [] }: ResponseState): string {
    const { requestId, created, model, now } = this.#context;
    const response: JsonObject = {
      id: `resp_${requestId}`,
      object: "response",
      created_at: created,
      completed_at: outcome?.status === "completed" ? (now?.() ?? created) : null,
      status: outcome?.status ?? "in_progress",
      incomplete_details: outcome?.status === "incomplete" ? { reason: outcome.reason } : null,
      error: outcome?.status === "failed" ? encodeFailure(outcome.error) : null,
      model,
      output,
      usage: usage === undefined ? null : encodeUsage(usage),
      ...(sources.length > 0 && { ext: { sources } }),
    };
    return `${JSON.stringify(response).slice(0, -1)},${this.#repeated.slice(1)}`;
  }
}

function encodeFailure(error: ServiceError): JsonObject {
  return { code: failureCodeOf(error), message: error.message };
}
