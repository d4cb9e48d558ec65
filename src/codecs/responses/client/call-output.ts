import { ServiceError } from "../../../core/service-error.ts";
import type { EventWriter } from "../../shared/event-writer.ts";
import type { OutputItem, PieceKind } from "./output-item.ts";

/** A call in progress. The input of a custom tool, which is free text, becomes the only argument of a function. */
export class CallOutput implements OutputItem {
  readonly #writer: EventWriter;
  readonly #block: number;
  readonly #isCustom: boolean;
  #length = 0;
  #ended = false;

  /** @param block the number of the call's block, which is open. */
  constructor(writer: EventWriter, block: number, isCustom: boolean) {
    this.#writer = writer;
    this.#block = block;
    this.#isCustom = isCustom;
    if (isCustom) this.#write('{"input":"');
  }

  get hasContent(): boolean {
    return this.#length > 0;
  }

  add(kind: PieceKind, _part: number, text: string): void {
    if (kind !== (this.#isCustom ? "input" : "arguments") || text === "") return;
    this.#length += text.length;
    this.#write(this.#isCustom ? JSON.stringify(text).slice(1, -1) : text);
  }

  complete(kind: PieceKind, part: number, text: string): void {
    this.add(kind, part, text.slice(this.#length));
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    if (this.#isCustom) this.#write('"}');
    this.#writer.endCall(this.#block);
  }

  #write(text: string): void {
    if (!this.#writer.isCallOpen(this.#block)) {
      throw new ServiceError(
        "upstream_error",
        "The engine continued a tool call that it had ended.",
      );
    }
    this.#writer.callDelta(this.#block, text);
  }
}
