import type { EventWriter } from "../../shared/event-writer.ts";
import type { OutputItem, PieceKind } from "./output-item.ts";
import { PartProgress } from "./part-progress.ts";

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
