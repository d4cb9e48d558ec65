import type { FinishReason } from "../../core/chat-event.ts";

/** Any other word is a natural end. */
const REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ["MAX_TOKENS", "length"],
  ["CONTINUATION", "length"],
  ["SAFETY", "content-filter"],
  ["RECITATION", "content-filter"],
  ["LANGUAGE", "content-filter"],
  ["BLOCKLIST", "content-filter"],
  ["PROHIBITED_CONTENT", "content-filter"],
  ["SPII", "content-filter"],
  ["ESCALATION", "content-filter"],
  ["MODEL_ARMOR", "content-filter"],
  ["IMAGE_SAFETY", "content-filter"],
  ["IMAGE_PROHIBITED_CONTENT", "content-filter"],
  ["IMAGE_RECITATION", "content-filter"],
]);

/** Of a call to a tool that the request does not have: the client decides what becomes of a call that is whole. */
const UNEXPECTED_CALL = "UNEXPECTED_TOOL_CALL";

/** Words for an answer that cannot be used, and what they mean. */
const FAILURES: ReadonlyMap<string, string> = new Map([
  ["MALFORMED_FUNCTION_CALL", "The model wrote a tool call that is not valid."],
  [UNEXPECTED_CALL, "The model called a tool although it has none."],
  ["TOO_MANY_TOOL_CALLS", "The model called too many tools in a row."],
  ["MISSING_THOUGHT_SIGNATURE", "The model server misses its seal on an earlier tool call."],
  ["MALFORMED_RESPONSE", "The model wrote an answer that is not valid."],
]);

/** The reason behind the vendor's word, as far as the word tells: it knows none for tool calls. */
export function readFinishReason(word: string): FinishReason {
  return REASONS.get(word) ?? "stop";
}

/** What is wrong with the answer; undefined for a word that ends a good one, as far as the answer has whole calls. */
export function readFailure(word: string, hasWholeCall: boolean): string | undefined {
  return word === UNEXPECTED_CALL && hasWholeCall ? undefined : FAILURES.get(word);
}
