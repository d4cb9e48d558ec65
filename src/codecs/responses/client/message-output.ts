import type { JsonObject } from "../../../lib/json.ts";
import type { EventWriter } from "../../shared/event-writer.ts";
import type { OutputItem, PieceKind } from "./output-item.ts";
import { PartProgress } from "./part-progress.ts";

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
