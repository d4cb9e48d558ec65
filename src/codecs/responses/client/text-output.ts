import type { JsonObject } from "../../../lib/json.ts";
import type { EventWriter } from "../../shared/event-writer.ts";
import type { OutputItem, PieceKind } from "./output-item.ts";

/** How much of an item's parts has come; they come one after the other. */
class PartProgress {
  #part = -1;
  #length = 0;

  get any(): boolean {
    return this.#part >= 0;
  }

  /** Turns to a part. True when another one came before it. */
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

  /** What is missing of a part, given the whole of it. */
  missingOf(part: number, whole: string): string {
    if (part < this.#part) return "";
    return part === this.#part ? whole.slice(this.#length) : whole;
  }
}

const BETWEEN_PARTS = "\n\n";

/** Thoughts under way: their summary, or the very thoughts. Who tells both tells the same twice, so the first counts. */
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

/** A message under way: a block for every part of it. */
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
