import type { Block } from "../reader.ts";
import type { Line } from "./read-text.ts";

/** A longer paragraph comes in pieces, so that it is never held as a whole. */
const PIECE_MAX = 8_192;

/** Joins lines to paragraphs, which empty lines separate. */
export class Paragraphs {
  #lines: string[] = [];
  #length = 0;

  /** Returns the block that this line completes, if any. */
  add({ text, isCut }: Line): Block | undefined {
    if (this.#length === 0 && text.trim() === "") return undefined;
    if (text.trim() === "" && !isCut) return this.end();
    const piece = this.#length > PIECE_MAX ? this.#take() : undefined;
    this.#lines.push(isCut ? text : `${text}\n`);
    this.#length += text.length + 1;
    return piece === undefined ? undefined : { kind: "paragraph", text: piece, isCut: true };
  }

  /** Returns the paragraph so far, if any. */
  end(): Block | undefined {
    const text = this.#take().trimEnd();
    return text === "" ? undefined : { kind: "paragraph", text };
  }

  #take(): string {
    const text = this.#lines.join("");
    this.#lines = [];
    this.#length = 0;
    return text;
  }
}
