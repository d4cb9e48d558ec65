import type { FinishReason } from "../../core/chat/chat-event.ts";
import { markSeal } from "../../core/chat/seal.ts";
import { ServiceError } from "../../core/service-error.ts";
import { isJsonObject, type JsonObject } from "../../lib/json/json.ts";
import { rawElements, rawMember } from "../../lib/json/raw-json.ts";
import { brokenOff, notAnAnswer, parseAnswerObject } from "../shared/answer-json.ts";
import { EventWriter } from "../shared/event-writer.ts";
import { CallReader } from "./call-reader.ts";
import { UsageReader } from "./read-usage.ts";
import { toVendorError } from "./vendor-errors.ts";

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

/**
 * The word for a call of a tool that the request does not declare. A complete call is passed on: the client decides
 * what to do with it.
 */
const UNEXPECTED_CALL = "UNEXPECTED_TOOL_CALL";

/** Words for an unusable answer, and their messages. */
const FAILURES: ReadonlyMap<string, string> = new Map([
  ["MALFORMED_FUNCTION_CALL", "The model wrote a tool call that is not valid."],
  [UNEXPECTED_CALL, "The model called a tool that the request does not declare."],
  ["TOO_MANY_TOOL_CALLS", "The model called too many tools in a row."],
  [
    "MISSING_THOUGHT_SIGNATURE",
    "The model server requires its thought signature on an earlier tool call.",
  ],
  ["MALFORMED_RESPONSE", "The model wrote an answer that is not valid."],
]);

/** Maps the vendor's word to a reason. The vendor has no word for tool calls. */
function readFinishReason(word: string): FinishReason {
  return REASONS.get(word) ?? "stop";
}

/**
 * Returns the message for a failed answer; undefined for any other word. An unexpected call is no failure if it is
 * complete.
 */
function readFailure(word: string, hasWholeCall: boolean): string | undefined {
  return word === UNEXPECTED_CALL && hasWholeCall ? undefined : FAILURES.get(word);
}

/**
 * Reads one answer, chunk by chunk; a complete answer is a single chunk. Throws a `ServiceError` for an error that the
 * vendor reports and for anything that is not an answer.
 */
export class AnswerReader {
  readonly writer = new EventWriter();
  readonly #calls = new CallReader(this.writer);
  readonly #usage = new UsageReader();
  #seed = "";
  #reason: FinishReason | undefined;

  readEvent(data: string): void {
    const chunk = parseAnswerObject(data);
    const { error, candidates, promptFeedback, responseId, usageMetadata } = chunk;
    if (isJsonObject(error)) throw toVendorError(error);
    this.#usage.add(usageMetadata);
    if (!this.writer.started) {
      if (!isAnswer(chunk)) throw notAnAnswer();
      if (typeof responseId === "string") this.#seed = responseId;
      this.writer.start(undefined, this.#usage.usage?.inputTokens);
    }
    if (Array.isArray(candidates)) this.#readCandidates(candidates, data);
    const { blockReason } = isJsonObject(promptFeedback) ? promptFeedback : {};
    if (typeof blockReason === "string") this.#reason ??= "content-filter";
  }

  /**
   * Ends the answer after the last chunk. The finish reason may be in any chunk, so the end is written when the vendor
   * closes the stream.
   */
  finish(): void {
    if (this.#reason === undefined) throw brokenOff();
    this.#calls.end();
    const isForCalls = this.#calls.any && this.#reason === "stop";
    this.writer.end({
      type: "finish",
      reason: isForCalls ? "tool-calls" : this.#reason,
      usage: this.#usage.usage,
    });
  }

  /** Reads the only candidate that the gateway requests; any others are dropped. */
  #readCandidates(candidates: readonly unknown[], data: string): void {
    const place = candidates.findIndex(
      (candidate) => isJsonObject(candidate) && (candidate["index"] ?? 0) === 0,
    );
    const candidate = candidates[place];
    if (!isJsonObject(candidate)) return;
    const { content, finishReason } = candidate;
    const { parts } = isJsonObject(content) ? content : {};
    let raws: readonly string[] | undefined;
    for (const [index, part] of Array.isArray(parts) ? parts.entries() : []) {
      if (!isJsonObject(part)) continue;
      const { functionCall } = part;
      if (isJsonObject(functionCall)) raws ??= rawParts(data, place);
      this.#readPart(part, raws?.[index] ?? "{}");
    }
    if (typeof finishReason === "string") this.#readReason(finishReason);
  }

  #readPart(part: JsonObject, raw: string): void {
    const { text, thought, functionCall, thoughtSignature: signature } = part;
    if (typeof text === "string" && text !== "") {
      this.#calls.end();
      this.writer.delta(thought === true ? "reasoning" : "text", text, undefined);
    }
    // A seal may follow its text in a separate part with an empty text; that of a call is the call's.
    const isSealed = typeof signature === "string" && signature !== "";
    if (isSealed && !isJsonObject(functionCall) && this.writer.textKind === "text") {
      this.writer.closeText(markSeal("gemini", signature));
    }
    if (isJsonObject(functionCall)) {
      const rawCall = rawMember(raw, "functionCall") ?? "{}";
      this.#calls.read(functionCall, rawCall, { signature, seed: this.#seed });
    }
  }

  #readReason(word: string): void {
    const failure = readFailure(word, this.#calls.hasWhole);
    if (failure !== undefined) {
      const { usage } = this.#usage;
      throw new ServiceError("upstream_error", failure, { usage });
    }
    this.#reason = readFinishReason(word);
  }
}

function isAnswer(chunk: JsonObject): boolean {
  return ["candidates", "promptFeedback", "usageMetadata"].some((name) => name in chunk);
}

/** Returns the JSON texts of a candidate's parts. */
function rawParts(data: string, candidate: number): readonly string[] {
  const raw = rawElements(rawMember(data, "candidates") ?? "[]")[candidate] ?? "{}";
  return rawElements(rawMember(rawMember(raw, "content") ?? "{}", "parts") ?? "[]");
}
