import type { SseShortcut } from "../../../lib/http/sse-reader.ts";
import { isJsonObject } from "../../../lib/json/json.ts";
import type { EventWriter } from "../../shared/event-writer.ts";
import { readThought } from "./delta-reader.ts";
import { DeltaTemplate } from "./delta-template.ts";
import { findChoice, type WireChoice, type WireDelta } from "./wire-chunk.ts";

/** Stops trying for vendors whose events differ in more than their text. */
const MAX_ATTEMPTS = 8;

/**
 * Reads events that carry a piece of the open block and otherwise equal an earlier event, without parsing their JSON.
 */
export class DeltaShortcut implements SseShortcut {
  readonly #writer: EventWriter;
  readonly #maxEventLength: number;
  #template: DeltaTemplate | undefined;
  /** The block that the template's pieces belong to. */
  #block: number | undefined;
  #attemptsLeft = MAX_ATTEMPTS;

  constructor(writer: EventWriter, maxEventLength: number) {
    this.#writer = writer;
    this.#maxEventLength = maxEventLength;
  }

  get isActive(): boolean {
    return this.#attemptsLeft > 0 || this.#template !== undefined;
  }

  take(text: string, start: number): number {
    const template = this.#usableTemplate();
    const kind = this.#writer.textKind;
    if (template === undefined || kind === undefined) return start;
    const first = this.#read(template, text, start);
    if (first === undefined) return start;
    let position = template.eventEnd;
    // A paced stream brings one piece a read, which needs no lists.
    if (position === text.length) {
      this.#writer.delta(kind, first, undefined);
      return position;
    }
    const pieces = [first];
    const literals = [template.literal];
    for (;;) {
      const piece = this.#read(template, text, position);
      if (piece === undefined) break;
      pieces.push(piece);
      literals.push(template.literal);
      position = template.eventEnd;
    }
    // The pieces of one read are one event, however many they are.
    if (literals.length > 1) this.#writer.deltas(kind, pieces.join(""), literals);
    else this.#writer.delta(kind, first, undefined);
    return position;
  }

  /** Returns the piece of the event at `start`; undefined for any other event. */
  #read(template: DeltaTemplate, text: string, start: number): string | undefined {
    const piece = template.read(text, start);
    // An empty piece means that the event brings nothing, or reasoning under another name.
    if (piece === undefined || piece === "") return undefined;
    return template.eventEnd - start > this.#maxEventLength ? undefined : piece;
  }

  /** Learns from an event that brought only a piece of the open block. */
  learn(data: string, json: unknown): void {
    const kind = this.#writer.textKind;
    const find = kind === "reasoning" ? findThought : findText;
    const piece = find(json);
    if (kind === "refusal" || typeof piece !== "string") return;
    const known = this.#usableTemplate();
    // A known event is parsed normally when a read ends within it.
    if (known !== undefined && known.read(`data: ${data}\n\n`, 0) !== undefined) return;
    this.#template = undefined;
    if (this.#attemptsLeft === 0) return;
    this.#attemptsLeft--;
    this.#template = DeltaTemplate.learn(data, piece, find);
    this.#block = this.#writer.textBlock;
  }

  #usableTemplate(): DeltaTemplate | undefined {
    return this.#block === this.#writer.textBlock ? this.#template : undefined;
  }
}

function findDelta(json: unknown): WireDelta {
  if (!isJsonObject(json)) return {};
  const { choices } = json;
  const { delta, message }: WireChoice = findChoice(choices) ?? {};
  const content = delta ?? message;
  return isJsonObject(content) ? content : {};
}

function findText(json: unknown): unknown {
  return findDelta(json).content;
}

function findThought(json: unknown): unknown {
  return readThought(findDelta(json));
}
