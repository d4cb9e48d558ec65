import type { ChatRequest } from "../../core/chat/chat-request.ts";
import { type ContextOverflow, describeOverflow } from "../../core/context-overflow.ts";
import { ServiceError } from "../../core/service-error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../lib/json/json.ts";
import type { Backend, CallOptions, Model } from "../backend.ts";
import { estimateInputTokens } from "./estimate-input-tokens.ts";

/** Names under which some server accepts an output limit, or a number of answers. */
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
 * Limits the request's output to the tokens reserved for it, whatever changed it before. The client's extra fields can
 * neither raise the limit nor request more answers. Without a reservation the request is unchanged.
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
  // Engines refuse a minimum length above the limit, and the client did not choose this limit.
  const isTooMuch = name === "min_tokens" && typeof value === "number" && value > most;
  return isTooMuch ? most : value;
}

/** An output limit that every cloud model accepts. */
const SAFE_OUTPUT_TOKENS = 4_096;

/**
 * Reduces the output limit to the room that the engine's own numbers leave. Throws `context_length_exceeded` when there
 * is none, or not less than was requested.
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
    // It is only known that prompt and answer are too long together.
    if (asked <= SAFE_OUTPUT_TOKENS) throw contextLengthExceeded(undefined, promptTokens);
    return withMaxOutputTokens(request, SAFE_OUTPUT_TOKENS);
  }
  const room = outputRoom(contextLength, promptTokens ?? estimateInputTokens(request));
  if (room >= asked) throw contextLengthExceeded(contextLength, promptTokens);
  return withMaxOutputTokens(request, room);
}

export interface FittedRequest {
  /** Contains an output limit that fits the model's context. */
  readonly request: ChatRequest;
  /** Tokens of the prompt: counted by the engine where it was close, else estimated, preferably too high. */
  readonly inputTokens: number;
}

interface FitTarget {
  readonly backend: Backend;
  readonly model: Model;
}

export interface FitOptions extends CallOptions {
  /** The output limit when the client sets none. */
  readonly defaultMaxOutputTokens: number;
}

/** Margin for tokens that the engine adds to a prompt beyond its tokenizer's count. */
const MARGIN_TOKENS = 16;
/** The limit when the estimate leaves no room but may be too high: the engine knows, and refuses what does not fit. */
const UNSURE_OUTPUT_TOKENS = 256;

/**
 * Limits the output to the model's maximum and to the room in its context beside the prompt. A prompt that surely fits
 * costs only an estimate and no wait; otherwise the engine counts it. Rejects with `context_length_exceeded` when the
 * prompt by itself is too long.
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

/** Returns the client's output limit, else the default; at most the reserved tokens and the model's maximum. */
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

/**
 * Returns the output tokens that fit beside a prompt of known length, at least 1. Throws `context_length_exceeded` when
 * none fit.
 */
function outputRoom(contextLength: number, promptTokens: number): number {
  const room = contextLength - promptTokens;
  if (room < 1) throw contextLengthExceeded(contextLength, promptTokens);
  return Math.max(1, room - MARGIN_TOKENS);
}

export function withMaxOutputTokens(request: ChatRequest, maxOutputTokens: number): ChatRequest {
  return { ...request, parameters: { ...request.parameters, maxOutputTokens } };
}

/** Uses the wording that clients search for. */
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
