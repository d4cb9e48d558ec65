import { ServiceError } from "../../../core/service-error.ts";
import { isJsonObject, type JsonObject } from "../../../lib/json/json.ts";
import type { EventWriter } from "../../shared/event-writer.ts";
import { CallOutput } from "./call-output.ts";
import { sealReasoning } from "./openai-seal.ts";
import { type OutputItem, type PieceKind, readLogprobs } from "./output-item.ts";
import { MessageOutput, ReasoningOutput } from "./text-output.ts";

/**
 * The maximum number of characters of the vendor's answer id in a generated call id; ids have at most 64 characters.
 */
const MAX_SEED_LENGTH = 40;

/** By the type of a part in a complete item: the kind of piece, and the field with its text. */
const PARTS: ReadonlyMap<unknown, readonly [PieceKind, string]> = new Map([
  ["output_text", ["text", "text"]],
  ["text", ["text", "text"]],
  ["refusal", ["refusal", "refusal"]],
  ["summary_text", ["summary", "text"]],
  ["reasoning_text", ["thought", "text"]],
]);

/** Reads the items of one output by position, in pieces or whole. Items of the vendor's own tools are dropped. */
export class OutputReader {
  readonly #writer: EventWriter;
  readonly #items = new Map<unknown, OutputItem>();
  readonly #ended = new Set<unknown>();
  readonly #callIds = new Set<string>();
  /** The vendor's id of the answer. */
  seed = "";

  constructor(writer: EventWriter) {
    this.#writer = writer;
  }

  /** True after any item was opened. */
  get any(): boolean {
    return this.#items.size > 0;
  }

  get hasCalls(): boolean {
    return this.#callIds.size > 0;
  }

  /** Starts an item, which may be incomplete. */
  begin(place: unknown, item: unknown): void {
    if (isJsonObject(item)) this.#open(place, item);
  }

  /**
   * Returns the item of a piece; undefined when the item has ended. Text and reasoning need no announcement, but a call
   * cannot be opened from its pieces.
   */
  find(place: unknown, kind: PieceKind): OutputItem | undefined {
    if (this.#ended.has(place)) return undefined;
    const known = this.#items.get(place);
    if (known !== undefined || kind === "arguments" || kind === "input") return known;
    const isSaid = kind === "text" || kind === "refusal";
    return this.#open(place, { type: isSaid ? "message" : "reasoning" });
  }

  /** Ends an item that is given as a whole: writes its content that has not arrived yet. */
  end(place: unknown, item: unknown): void {
    if (!isJsonObject(item) || this.#ended.has(place)) return;
    const output = this.#items.get(place) ?? this.#open(place, item);
    if (output === undefined) return;
    completeFrom(output, item);
    if (item["type"] === "reasoning") this.#seal(item, output);
    output.end();
    this.#ended.add(place);
  }

  /** Ends all open items. */
  finish(): void {
    for (const [place, item] of this.#items) if (!this.#ended.has(place)) item.end();
  }

  #open(place: unknown, item: JsonObject): OutputItem | undefined {
    const output = this.#create(item);
    if (output !== undefined) {
      this.#items.set(place, output);
      this.#ended.delete(place);
    }
    return output;
  }

  #create(item: JsonObject): OutputItem | undefined {
    switch (item["type"]) {
      case "message":
        this.#writer.closeText();
        return new MessageOutput(this.#writer);
      case "reasoning":
        this.#writer.closeText();
        return new ReasoningOutput(this.#writer);
      case "function_call":
      case "custom_tool_call":
        return this.#createCall(item);
      default:
        return undefined;
    }
  }

  #createCall(item: JsonObject): OutputItem {
    const { type, name } = item;
    if (typeof name !== "string" || name === "") {
      throw new ServiceError("upstream_error", "The engine sent a tool call without a name.");
    }
    const block = this.#writer.startCall(this.#callId(item), name);
    return new CallOutput(this.#writer, block, type === "custom_tool_call");
  }

  #callId({ call_id, id }: JsonObject): string {
    const given = [call_id, id].find((one) => typeof one === "string" && one !== "");
    const stamp = this.seed.replace(/[^\w-]/g, "").slice(0, MAX_SEED_LENGTH);
    const isNew = typeof given === "string" && !this.#callIds.has(given);
    const callId = isNew ? given : `call_${stamp}_${this.#callIds.size}`;
    this.#callIds.add(callId);
    return callId;
  }

  #seal({ id, encrypted_content: encryptedContent }: JsonObject, output: OutputItem): void {
    if (typeof id !== "string" || typeof encryptedContent !== "string") return;
    if (id === "" || encryptedContent === "") return;
    const seal = sealReasoning({ id, encryptedContent });
    this.#writer.sign(output.hasContent ? { signature: seal } : { redacted: seal });
  }
}

function completeFrom(output: OutputItem, item: JsonObject): void {
  const { type, summary, content, arguments: text, input } = item;
  if (type === "function_call" && typeof text === "string") output.complete("arguments", 0, text);
  if (type === "custom_tool_call" && typeof input === "string") output.complete("input", 0, input);
  if (type === "reasoning") completeParts(output, summary);
  completeParts(output, content);
}

function completeParts(output: OutputItem, parts: unknown): void {
  if (!Array.isArray(parts)) return;
  // Log probabilities come with the pieces; they are read here only when there were none.
  const isNew = !output.hasContent;
  for (const [index, part] of parts.entries()) {
    if (!isJsonObject(part)) continue;
    const [kind, field] = PARTS.get(part["type"]) ?? [];
    const text = field === undefined ? undefined : part[field];
    if (kind === undefined || typeof text !== "string") continue;
    if (isNew) output.add(kind, index, text, readLogprobs(part["logprobs"]));
    else output.complete(kind, index, text);
  }
}
