import type { ContextOverflow } from "../../core/context-overflow.ts";

const OVERFLOW =
  /input token count (?:is )?\(?(\d+)\)? (?:exceeds the maximum number of tokens allowed|but model only supports up to) \(?(\d+)\)?/i;

/** Reads the vendor's complaint that a prompt is too long; undefined when the text is about something else. */
export function readContextOverflow(message: string): ContextOverflow | undefined {
  const match = OVERFLOW.exec(message);
  return match === null
    ? undefined
    : { promptTokens: Number(match[1]), contextLength: Number(match[2]) };
}
