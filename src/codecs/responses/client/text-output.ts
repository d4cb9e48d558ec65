import type { JsonObject } from "../../../lib/json/json.ts";
import type { EventWriter } from "../../shared/event-writer.ts";
import type { OutputItem, PieceKind } from "./output-item.ts";

/** Tracks how much of an item's parts has arrived; parts come one after another. */
class PartProgress {
  #part = -1;
  #length = 0;

  get any(): boolean {
    return this.#part >= 0;
  }

  /** Switches to a part. Returns true when another part came before it. */
  begins(part: number): boolean {
    if (part === this.#part) return false;
    const isFirst = !this.any;
    this.#part = part;
    this.#length = 0;
    return !isFirst;
  }

  add(length: number): void {
    this.#length += length;
  }

  /** Returns the missing rest of a part, given the complete part. */
  missingOf(part: number, whole: string): string {
    if (part < this.#part) return "";
    return part === this.#part ? whole.slice(this.#length) : whole;
  }
}

const BETWEEN_PARTS = "\n\n";

/**
 * Reasoning in progress: its summary, or the full text. Some vendors send both with the same content, so only the first
 * kind is used.
 */
export class ReasoningOutput implements OutputItem {
  readonly #writer: EventWriter;
  readonly #progress = new PartProgress();
  #kind: PieceKind | undefined;

  constructor(writer: EventWriter) {
    this.#writer = writer;
  }

  get hasContent(): boolean {
    return this.#progress.any;
  }

  add(kind: PieceKind, part: number, text: string): void {
    if ((kind !== "summary" && kind !== "thought") || text === "") return;
    this.#kind ??= kind;
    if (kind !== this.#kind) return;
    if (this.#progress.begins(part)) this.#writer.delta("reasoning", BETWEEN_PARTS, undefined);
    this.#progress.add(text.length);
    this.#writer.delta("reasoning", text, undefined);
  }

  complete(kind: PieceKind, part: number, text: string): void {
    if (this.#kind !== undefined && kind !== this.#kind) return;
    this.add(kind, part, this.#progress.missingOf(part, text));
  }

  end(): void {
    this.#writer.closeText();
  }
}

/** A message in progress: one block for each of its parts. */
export class MessageOutput implements OutputItem {
  readonly #writer: EventWriter;
  readonly #progress = new PartProgress();

  constructor(writer: EventWriter) {
    this.#writer = writer;
  }

  get hasContent(): boolean {
    return this.#progress.any;
  }

  add(kind: PieceKind, part: number, text: string, extra?: JsonObject): void {
    if ((kind !== "text" && kind !== "refusal") || text === "") return;
    if (this.#progress.begins(part)) this.#writer.closeText();
    this.#progress.add(text.length);
    this.#writer.delta(kind, text, extra);
  }

  complete(kind: PieceKind, part: number, text: string): void {
    this.add(kind, part, this.#progress.missingOf(part, text));
  }

  end(): void {
    this.#writer.closeText();
  }
}
