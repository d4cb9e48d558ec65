import { type ContextOverflow, describeOverflow } from "../../core/context-overflow.ts";
import { ServiceError } from "../../core/service-error.ts";
import { isJsonObject } from "../../lib/json/json.ts";
import { hideAddresses } from "../../lib/text/hide-addresses.ts";

const MAX_MESSAGE_LENGTH = 2000;

/** All messages of the engine for a prompt that does not fit, from 0.12 to 0.40 and its cloud models. */
const OVERFLOWS: readonly RegExp[] = [
  /request \((\d+) tokens\) exceeds the available context size \((\d+) tokens\)/i,
  /exceeds the available context size/i,
  /input length exceeds the context length/i,
  /prompt is longer than the context length/i,
  /prompt too long; exceeded (?:max )?context length/i,
];

/** Reports whether the model does not support thinking: calls work without `think`. */
export function isThinkingUnsupported(message: string): boolean {
  return /does not support thinking/i.test(message);
}

/** Reports whether the model does not support thinking at the requested level: this call works without `think`. */
export function isThinkingLevelUnsupported(message: string): boolean {
  return /think value "[^"]*" is not supported/i.test(message);
}

/** Reports whether the model does not support tools: the call works without `tools`. */
export function isToolsUnsupported(message: string): boolean {
  return /does not support tools/i.test(message);
}

/** Returns undefined when the message is not about the context. */
export function readContextOverflow(message: string): ContextOverflow | undefined {
  for (const pattern of OVERFLOWS) {
    const match = pattern.exec(message);
    if (match === null) continue;
    const [, promptTokens, contextLength] = match;
    return { promptTokens: toCount(promptTokens), contextLength: toCount(contextLength) };
  }
  return undefined;
}

/** Returns the engine's message from an error body, without addresses; undefined when there is none. */
export function readErrorMessage(body: string): string | undefined {
  return readErrorField(errorField(body));
}

/** Returns the message of an `error` field. Newer engines put the JSON of their runner into it as text. */
export function readErrorField(error: unknown): string | undefined {
  const text = messageOf(error);
  if (text === undefined) return undefined;
  const inner = text.startsWith("{") ? messageOf(errorField(text)) : undefined;
  // Some errors contain the address of the engine's runner, which clients must not see.
  return hideAddresses(inner ?? text, MAX_MESSAGE_LENGTH);
}

function errorField(jsonText: string): unknown {
  try {
    const body: unknown = JSON.parse(jsonText);
    if (!isJsonObject(body)) return undefined;
    const { error } = body;
    return error;
  } catch {
    return undefined;
  }
}

function messageOf(error: unknown): string | undefined {
  if (!isJsonObject(error)) return typeof error === "string" && error !== "" ? error : undefined;
  const { message } = error;
  return typeof message === "string" && message !== "" ? message : undefined;
}

/** Builds the error for a message that the engine sent after it accepted the call. */
export function toEngineError(message: string): ServiceError {
  const overflow = readContextOverflow(message);
  if (overflow === undefined) return new ServiceError("upstream_error", message);
  return new ServiceError("context_length_exceeded", describeOverflow(overflow), { overflow });
}

function toCount(digits: string | undefined): number | undefined {
  return digits === undefined ? undefined : Number(digits);
}
