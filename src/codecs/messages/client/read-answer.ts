import { markSeal } from "../../../core/chat/seal.ts";
import { ServiceError } from "../../../core/service-error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../lib/json/json.ts";
import { rawElements, rawMember } from "../../../lib/json/raw-json.ts";
import { brokenOff, notAnAnswer, parseAnswerObject } from "../../shared/answer-json.ts";
import { EventWriter } from "../../shared/event-writer.ts";
import { readRefusal, readStopReason } from "./read-end.ts";
import { UsageReader } from "./read-usage.ts";
import { toVendorError } from "./vendor-errors.ts";

/**
 * The maximum number of characters of the vendor's answer id in a generated call id; ids have at most 64 characters.
 */
const MAX_SEED_LENGTH = 40;

interface OpenCall {
  readonly block: number;
  /** Arguments that came with the start of the call, used when no deltas follow. */
  readonly input: string;
  hasArguments: boolean;
}

/**
 * Reads one answer, event by event or as a whole. Unknown types are skipped, as the vendor asks of its clients. Throws
 * a `ServiceError` for an error that the vendor reports and for anything that is not an answer.
 */
export class AnswerReader {
  readonly writer = new EventWriter();
  readonly #usage = new UsageReader();
  /** Keyed by the vendor's block index. */
  readonly #calls = new Map<unknown, OpenCall>();
  readonly #callIds = new Set<string>();
  #seed = "";
  #stopReason: unknown;
  #stopSequence: unknown;
  #stopDetails: unknown;

  /** Reads one event of a stream. */
  readEvent(data: string): void {
    const event = parseAnswerObject(data);
    const { type, index, delta } = event;
    if (typeof type !== "string") throw notAnAnswer();
    switch (type) {
      case "message_start":
        this.#start(event["message"]);
        break;
      case "content_block_start":
        this.#startBlock(event, data);
        break;
      case "content_block_delta":
        this.#readDelta(delta, index);
        break;
      case "content_block_stop":
        this.#endBlock(index);
        break;
      case "message_delta":
        this.#readEnd(delta, event["usage"]);
        break;
      case "message_stop":
        this.#finish();
        break;
      case "error":
        throw toVendorError(event);
      default:
        // A ping, or an event type added later.
        break;
    }
  }

  /**
   * Called when the stream has no more events. Throws, because the end was written at `message_stop`: without it the
   * answer is incomplete.
   */
  finish(): void {
    throw brokenOff();
  }

  /** Reads a non-streaming answer. */
  readWhole(text: string): void {
    const message = parseAnswerObject(text);
    const { type, content } = message;
    if (type === "error") throw toVendorError(message);
    if (!Array.isArray(content)) throw notAnAnswer();
    this.#start(message);
    const texts = rawElements(rawMember(text, "content") ?? "[]");
    for (const [index, block] of content.entries()) {
      if (isJsonObject(block)) this.#readBlock(block, index, texts[index] ?? "{}");
    }
    this.#readEnd(message, undefined);
    this.#finish();
  }

  #start(message: JsonValue | undefined): void {
    const { id, usage } = isJsonObject(message) ? message : {};
    // Some proxies send the start of one answer twice.
    const isRepeated = this.writer.started && this.#seed !== "" && id === this.#seed;
    if (this.writer.started && !isRepeated) throw notAnAnswer();
    this.#usage.add(usage);
    if (isRepeated) return;
    if (typeof id === "string") this.#seed = id;
    this.writer.start(undefined, this.#usage.inputTokens);
  }

  #startBlock({ index, content_block: block }: JsonObject, data: string): void {
    if (!this.writer.started || !isJsonObject(block)) throw notAnAnswer();
    this.#readBlock(block, index, rawMember(data, "content_block") ?? "{}", true);
  }

  /** @param isOpen deltas and the end of the block may follow. */
  #readBlock(block: JsonObject, index: unknown, raw: string, isOpen = false): void {
    switch (block["type"]) {
      case "text":
        this.#write("text", block["text"]);
        break;
      case "thinking":
        this.#write("reasoning", block["thinking"]);
        this.#seal(block["signature"]);
        break;
      case "redacted_thinking":
        this.#redact(block["data"]);
        break;
      case "tool_use":
        this.#startCall(block, index, rawMember(raw, "input") ?? "{}");
        break;
      default:
        // Tools that the vendor runs.
        break;
    }
    if (!isOpen) this.#endBlock(index);
  }

  #readDelta(delta: JsonValue | undefined, index: unknown): void {
    if (!this.writer.started || !isJsonObject(delta)) throw notAnAnswer();
    switch (delta["type"]) {
      case "text_delta":
        this.#write("text", delta["text"]);
        break;
      case "thinking_delta":
        this.#write("reasoning", delta["thinking"]);
        break;
      case "signature_delta":
        this.#seal(delta["signature"]);
        break;
      case "input_json_delta":
        this.#continueCall(delta["partial_json"], index);
        break;
      default:
        // Citations, which have no canonical place.
        break;
    }
  }

  #write(kind: "text" | "reasoning", text: unknown): void {
    if (typeof text === "string" && text !== "") this.writer.delta(kind, text, undefined);
  }

  #seal(signature: unknown): void {
    if (typeof signature !== "string" || signature === "") return;
    this.writer.sign({ signature: markSeal("anthropic", signature) });
  }

  #redact(data: unknown): void {
    if (typeof data !== "string" || data === "") return;
    this.writer.sign({ redacted: markSeal("anthropic", data) });
  }

  #startCall({ id, name }: JsonObject, index: unknown, input: string): void {
    if (typeof name !== "string" || name === "") {
      throw new ServiceError("upstream_error", "The engine sent a tool call without a name.");
    }
    const block = this.writer.startCall(this.#callId(id), name);
    this.#calls.set(index, { block, input, hasArguments: false });
  }

  /** Returns the vendor's id, or a generated one when it is missing or already used. */
  #callId(id: unknown): string {
    const stamp = this.#seed.replace(/[^\w-]/g, "").slice(0, MAX_SEED_LENGTH);
    const made = `toolu_${stamp}_${this.#callIds.size}`;
    const callId = typeof id === "string" && id !== "" && !this.#callIds.has(id) ? id : made;
    this.#callIds.add(callId);
    return callId;
  }

  #continueCall(json: unknown, index: unknown): void {
    const call = this.#calls.get(index);
    // Deltas of skipped blocks, such as calls of the vendor's own tools.
    if (call === undefined || typeof json !== "string" || json === "") return;
    if (!this.writer.isCallOpen(call.block)) {
      throw new ServiceError(
        "upstream_error",
        "The engine continued a tool call that it had ended.",
      );
    }
    call.hasArguments = true;
    this.writer.callDelta(call.block, json);
  }

  #endBlock(index: unknown): void {
    const call = this.#calls.get(index);
    if (call === undefined) {
      this.writer.closeText();
      return;
    }
    this.#calls.delete(index);
    if (!this.writer.isCallOpen(call.block)) return;
    if (!call.hasArguments) this.writer.callDelta(call.block, call.input);
    this.writer.endCall(call.block);
  }

  #readEnd(delta: JsonValue | undefined, usage: unknown): void {
    const { stop_reason, stop_sequence, stop_details } = isJsonObject(delta) ? delta : {};
    this.#stopReason = stop_reason ?? this.#stopReason;
    this.#stopSequence = stop_sequence ?? this.#stopSequence;
    this.#stopDetails = stop_details ?? this.#stopDetails;
    this.#usage.add(usage);
  }

  #finish(): void {
    if (!this.writer.started) throw notAnAnswer();
    const stopSequence = this.#stopSequence;
    this.writer.end({
      type: "finish",
      reason: readStopReason(this.#stopReason, this.#callIds.size > 0),
      stopSequence: typeof stopSequence === "string" ? stopSequence : undefined,
      refusal: readRefusal(this.#stopDetails),
      usage: this.#usage.usage,
    });
  }
}
