import type { FinishReason } from "../../../core/chat/chat-event.ts";
import type { Usage } from "../../../core/chat/usage.ts";
import { ServiceError } from "../../../core/service-error.ts";
import { isJsonObject, type JsonObject } from "../../../lib/json/json.ts";
import { toEngineError } from "../../shared/errors/openai-errors.ts";
import { EventWriter } from "../../shared/event-writer.ts";
import { type PieceKind, readLogprobs } from "./output-item.ts";
import { OutputReader } from "./output-reader.ts";

/** Events with a piece of content: its kind, and the field with the number of its part. */
const PIECES: ReadonlyMap<string, readonly [PieceKind, string]> = new Map([
  ["response.output_text.delta", ["text", "content_index"]],
  ["response.refusal.delta", ["refusal", "content_index"]],
  ["response.reasoning_summary_text.delta", ["summary", "summary_index"]],
  ["response.reasoning_text.delta", ["thought", "content_index"]],
  // The same event in the open edition of the format.
  ["response.reasoning.delta", ["thought", "content_index"]],
  ["response.function_call_arguments.delta", ["arguments", "content_index"]],
  ["response.custom_tool_call_input.delta", ["input", "content_index"]],
]);

/** Events that repeat the content of earlier pieces: the kind, and the fields with the part's number and the text. */
const WHOLES: ReadonlyMap<string, readonly [PieceKind, part: string, text: string]> = new Map([
  ["response.output_text.done", ["text", "content_index", "text"]],
  ["response.refusal.done", ["refusal", "content_index", "refusal"]],
  ["response.reasoning_summary_text.done", ["summary", "summary_index", "text"]],
  ["response.reasoning_text.done", ["thought", "content_index", "text"]],
  ["response.reasoning.done", ["thought", "content_index", "text"]],
  ["response.function_call_arguments.done", ["arguments", "content_index", "arguments"]],
  ["response.custom_tool_call_input.done", ["input", "content_index", "input"]],
]);

const INCOMPLETE_REASONS: ReadonlyMap<unknown, FinishReason> = new Map([
  ["max_output_tokens", "length"],
  ["content_filter", "content-filter"],
]);

/**
 * Reads the events of one response, or a complete response. Throws a `ServiceError` for an error that the engine
 * reports and for anything that is not a response.
 */
export class ResponseReader {
  readonly writer = new EventWriter();
  readonly #output = new OutputReader(this.writer);

  /** @param type the type of the event; unknown types are skipped. */
  read(type: string, event: JsonObject): void {
    const piece = PIECES.get(type);
    const whole = WHOLES.get(type);
    if (piece !== undefined) this.#readPiece(piece, event);
    else if (whole !== undefined) this.#readWholePart(whole, event);
    else this.#readStep(type, event);
  }

  /** Reads a non-streaming answer to its end. */
  readWhole(response: unknown): void {
    if (!isJsonObject(response)) throw garbage();
    const { status = "completed", output, error } = response;
    if (error) throw toEngineError(error, response);
    if (status === "failed" || status === "cancelled") throw failure(response);
    if (!Array.isArray(output)) throw garbage();
    if (status !== "completed" && status !== "incomplete") throw garbage();
    this.#readEnd(response, status);
  }

  #start(response?: unknown): void {
    if (this.writer.started) return;
    if (isJsonObject(response) && typeof response["id"] === "string") {
      this.#output.seed = response["id"];
    }
    this.writer.start();
  }

  #readStep(type: string, event: JsonObject): void {
    const { response, item, error } = event;
    switch (type) {
      case "response.created":
      case "response.queued":
      case "response.in_progress":
        this.#start(response);
        break;
      case "response.output_item.added":
        this.#start();
        this.#output.begin(placeOf(event), item);
        break;
      case "response.output_item.done":
        this.#start();
        this.#output.end(placeOf(event), item);
        break;
      case "response.completed":
        this.#readEnd(response, "completed");
        break;
      case "response.incomplete":
        this.#readEnd(response, "incomplete");
        break;
      case "response.failed":
      case "response.cancelled":
        throw failure(response);
      case "error":
        throw toEngineError(error ?? event, event);
    }
  }

  #readPiece([kind, part]: readonly [PieceKind, string], event: JsonObject): void {
    const { delta, logprobs } = event;
    if (typeof delta !== "string") return;
    this.#start();
    const extra = logprobs === undefined ? undefined : readLogprobs(logprobs);
    this.#output.find(placeOf(event), kind)?.add(kind, numberOf(event[part]), delta, extra);
  }

  #readWholePart(
    [kind, part, field]: readonly [PieceKind, string, string],
    event: JsonObject,
  ): void {
    const text = event[field];
    if (typeof text !== "string") return;
    this.#start();
    this.#output.find(placeOf(event), kind)?.complete(kind, numberOf(event[part]), text);
  }

  #readEnd(response: unknown, status: "completed" | "incomplete"): void {
    this.#start(response);
    const told: JsonObject = isJsonObject(response) ? response : {};
    const { output, usage, incomplete_details: details } = told;
    // Some servers send the items only now.
    if (!this.#output.any && Array.isArray(output)) {
      for (const [place, item] of output.entries()) this.#output.end(place, item);
    }
    this.#output.finish();
    this.writer.end({
      type: "finish",
      reason: status === "completed" ? this.#endReason() : cutReason(details),
      usage: readUsage(usage),
    });
  }

  #endReason(): FinishReason {
    return this.#output.hasCalls ? "tool-calls" : "stop";
  }
}

/** Returns the error for data that is not a response. */
export function garbage(cause?: unknown): ServiceError {
  return new ServiceError("upstream_error", "The engine sent something that is not an answer.", {
    cause,
  });
}

/**
 * Returns the reason of an incomplete answer. It is never a natural end: the last call may be incomplete, and the
 * client must know.
 */
function cutReason(details: unknown): FinishReason {
  const reason = isJsonObject(details) ? details["reason"] : undefined;
  return INCOMPLETE_REASONS.get(reason) ?? "length";
}

function failure(response: unknown): ServiceError {
  const { error } = isJsonObject(response) ? response : { error: null };
  if (error) return toEngineError(error);
  return new ServiceError("upstream_error", "The engine aborted this answer.");
}

/** Returns what identifies an item. Some servers omit its position; others change its id with every event. */
function placeOf({ output_index: place, item_id: id, item }: JsonObject): unknown {
  return place ?? id ?? (isJsonObject(item) ? (item["id"] ?? item) : undefined);
}

function numberOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

/** Reads a response's `usage`; returns undefined when it has no counts. */
function readUsage(usage: unknown): Usage | undefined {
  if (!isJsonObject(usage)) return undefined;
  const input = readCount(usage, "input_tokens");
  const output = readCount(usage, "output_tokens");
  if (input === undefined && output === undefined) return undefined;
  const { input_tokens_details: ofInput, output_tokens_details: ofOutput } = usage;
  return {
    inputTokens: input ?? 0,
    outputTokens: output ?? 0,
    cachedTokens: readCount(ofInput, "cached_tokens"),
    cacheWriteTokens: readCount(ofInput, "cache_write_tokens"),
    reasoningTokens: readCount(ofOutput, "reasoning_tokens"),
  };
}

function readCount(counts: unknown, name: string): number | undefined {
  const value = isJsonObject(counts) ? counts[name] : undefined;
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
