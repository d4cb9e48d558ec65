import { type ErrorCode, ServiceError } from "../core/service-error.ts";

/** A text that the embedding model refuses as too long is halved until this length, in characters. */
const SHORTEST_TEXT = 100;
/** Refusals that a smaller request may avoid: engines tell in many ways that a text is too long. */
const TOO_MUCH: ReadonlySet<ErrorCode> = new Set([
  "context_length_exceeded",
  "invalid_value",
  "request_too_large",
]);

/** Whether the embedding engine may take less text than it has refused. */
export function isTooMuch(thrown: unknown): boolean {
  return thrown instanceof ServiceError && TOO_MUCH.has(thrown.code);
}

/** Returns half the length of a refused text. Throws the refusal when that is too short to stand for the text. */
export function halveRefused(text: string, refusal: unknown): number {
  if (text.length < 2 * SHORTEST_TEXT) throw refusal;
  return Math.floor(text.length / 2);
}
