import type { ChatRequest } from "../../core/chat-request.ts";
import { type ContextOverflow, describeOverflow } from "../../core/context-overflow.ts";
import { ServiceError } from "../../core/service-error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../lib/json.ts";
import type { Backend, CallOptions, Model } from "../backend.ts";
import { estimateInputTokens } from "./estimate-input-tokens.ts";

/** By these names one server or another takes a limit of the answer, or makes several answers of one. */
const OTHER_LIMITS: ReadonlySet<string> = new Set([
  "best_of",
  "candidateCount",
  "maxOutputTokens",
  "max_completion_tokens",
  "max_new_tokens",
  "max_output_tokens",
  "max_tokens",
  "n",
  "n_predict",
  "num_predict",
]);

/**
 * The request whose answer has no more tokens than are reserved for it, whatever it has been through: the client's
 * further fields can neither lift the limit nor ask for more. Without a reservation it stays as it is.
 */
export function holdReservation(request: ChatRequest): ChatRequest {
  const { reservedOutputTokens: most, parameters } = request;
  if (most === undefined) return request;
  const maxOutputTokens = Math.min(parameters.maxOutputTokens ?? most, most);
  const extra = parameters.extra && withoutLimits(parameters.extra, maxOutputTokens);
  return { ...request, parameters: { ...parameters, maxOutputTokens, extra } };
}

function withoutLimits(fields: JsonObject, most: number): JsonObject {
  const kept = Object.entries(fields).filter(([name]) => !OTHER_LIMITS.has(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, limited(name, value, most)]));
}

function limited(name: string, value: JsonValue | undefined, most: number): JsonValue | undefined {
  if (name === "options" && isJsonObject(value)) return withoutLimits(value, most);
  // Engines refuse a least length above the limit, which the client has not chosen so low.
  const isTooMuch = name === "min_tokens" && typeof value === "number" && value > most;
  return isTooMuch ? most : value;
}

/** As long an answer as every model of a cloud gives. */
const SAFE_OUTPUT_TOKENS = 4_096;

/**
 * The request with the output limit that the engine's own numbers leave room for.
 * Throws `context_length_exceeded` when they leave none, or none that is smaller than what was asked.
 */
export function fitAfterOverflow(
  request: ChatRequest,
  model: Model,
  overflow: ContextOverflow,
): ChatRequest {
  const contextLength = overflow.contextLength ?? model.contextLength;
  const { promptTokens } = overflow;
  const asked = request.parameters.maxOutputTokens ?? Number.POSITIVE_INFINITY;
  if (contextLength === undefined) {
    // Nothing is known but that prompt and answer are too long together.
    if (asked <= SAFE_OUTPUT_TOKENS) throw contextLengthExceeded(undefined, promptTokens);
    return withMaxOutputTokens(request, SAFE_OUTPUT_TOKENS);
  }
  const room = outputRoom(contextLength, promptTokens ?? estimateInputTokens(request));
  if (room >= asked) throw contextLengthExceeded(contextLength, promptTokens);
  return withMaxOutputTokens(request, room);
}

export interface FittedRequest {
  /** Names an output limit that the model's context can hold. */
  readonly request: ChatRequest;
  /** Tokens of the prompt: counted by the engine where it was close, else estimated, rather too many than too few. */
  readonly inputTokens: number;
}

interface FitTarget {
  readonly backend: Backend;
  readonly model: Model;
}

export interface FitOptions extends CallOptions {
  /** Output tokens asked for when the client names no limit. */
  readonly defaultMaxOutputTokens: number;
}

/** Room for what the engine adds to a prompt beyond what its tokenizer counts. */
const MARGIN_TOKENS = 16;
/** Asked for when the estimate leaves no room but may be too high: the engine knows, and refuses what does not fit. */
const UNSURE_OUTPUT_TOKENS = 256;

/**
 * Cuts the output limit to the model's longest answer and to what fits its context beside the prompt. A prompt that surely fits costs an estimate
 * alone and no wait; a close one is counted by the engine. Rejects with `context_length_exceeded` when the prompt alone is too long.
 */
export function fitOutput(
  request: ChatRequest,
  target: FitTarget,
  options: FitOptions,
): FittedRequest | Promise<FittedRequest> {
  const { model } = target;
  const wanted = wantedOutputTokens(request, model, options.defaultMaxOutputTokens);
  const estimate = estimateInputTokens(request);
  const { contextLength } = model;
  if (contextLength === undefined || estimate + wanted + MARGIN_TOKENS <= contextLength) {
    return { request: withMaxOutputTokens(request, wanted), inputTokens: estimate };
  }
  return fitCounted(request, target, { ...options, wanted, estimate, contextLength });
}

interface CloseFit extends CallOptions {
  readonly wanted: number;
  readonly estimate: number;
  readonly contextLength: number;
}

async function fitCounted(
  request: ChatRequest,
  { backend, model }: FitTarget,
  { wanted, estimate, contextLength, ...options }: CloseFit,
): Promise<FittedRequest> {
  const counted = await backend.countTokens?.(request, model, options);
  const fitting =
    counted === undefined
      ? Math.max(UNSURE_OUTPUT_TOKENS, contextLength - estimate - MARGIN_TOKENS)
      : outputRoom(contextLength, counted);
  return {
    request: withMaxOutputTokens(request, Math.min(wanted, fitting)),
    inputTokens: counted ?? estimate,
  };
}

/** What the client asks for, else the default; at most what is reserved for the call, and what the model gives. */
export function wantedOutputTokens(
  { parameters, reservedOutputTokens = Number.POSITIVE_INFINITY }: ChatRequest,
  { maxOutputTokens, contextLength }: Model,
  defaultMaxOutputTokens: number,
): number {
  const asked = Math.min(
    parameters.maxOutputTokens ?? defaultMaxOutputTokens,
    reservedOutputTokens,
  );
  return Math.min(asked, maxOutputTokens ?? asked, contextLength ?? asked);
}

/** Output tokens that fit beside a prompt of known length, at least 1. Throws `context_length_exceeded` when none do. */
function outputRoom(contextLength: number, promptTokens: number): number {
  const room = contextLength - promptTokens;
  if (room < 1) throw contextLengthExceeded(contextLength, promptTokens);
  return Math.max(1, room - MARGIN_TOKENS);
}

export function withMaxOutputTokens(request: ChatRequest, maxOutputTokens: number): ChatRequest {
  return { ...request, parameters: { ...request.parameters, maxOutputTokens } };
}

/** In the words that clients look for. */
function contextLengthExceeded(
  contextLength: number | undefined,
  promptTokens: number | undefined,
): ServiceError {
  const overflow = { contextLength, promptTokens };
  return new ServiceError("context_length_exceeded", describeOverflow(overflow), {
    param: "messages",
    overflow,
  });
}
