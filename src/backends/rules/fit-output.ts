import type { ChatRequest } from "../../core/chat-request.ts";
import { describeOverflow } from "../../core/context-overflow.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Backend, CallOptions, Model } from "../backend.ts";
import { estimateInputTokens } from "./estimate-input-tokens.ts";

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
export function outputRoom(contextLength: number, promptTokens: number): number {
  const room = contextLength - promptTokens;
  if (room < 1) throw contextLengthExceeded(contextLength, promptTokens);
  return Math.max(1, room - MARGIN_TOKENS);
}

export function withMaxOutputTokens(request: ChatRequest, maxOutputTokens: number): ChatRequest {
  return { ...request, parameters: { ...request.parameters, maxOutputTokens } };
}

/** In the words that clients look for. */
export function contextLengthExceeded(
  contextLength: number | undefined,
  promptTokens: number | undefined,
): ServiceError {
  const overflow = { contextLength, promptTokens };
  return new ServiceError("context_length_exceeded", describeOverflow(overflow), {
    param: "messages",
    overflow,
  });
}
