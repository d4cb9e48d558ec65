const OPEN = "<think>";
const CLOSE = "</think>";

/** The maximum white space before `<think>`; with more, it belongs to an answer that begins with white space. */
const MAX_LEADING_SPACE = 64;

/** A piece of text of one kind, in the order in which the model wrote it. Never empty. */
export interface ThinkPiece {
  readonly kind: "text" | "reasoning";
  readonly text: string;
}

/**
 * Separates `<think>…</think>` at the beginning of an answer from the answer itself, for engines that run a thinking
 * model without a reasoning parser. Tags may be split anywhere. A later tag is ordinary text.
 */
export class ThinkTagSplitter {
  #state: "undecided" | "thinking" | "text" = "undecided";
  #held = "";
  /** White space next to a tag belongs to neither the reasoning nor the answer. */
  #skipSpace = false;

  /** Returns the pieces that this text determines; the rest is held back until more arrives. */
  push(text: string): readonly ThinkPiece[] {
    if (this.#state === "text" && !this.#skipSpace) {
      return text === "" ? [] : [{ kind: "text", text }];
    }
    this.#held += text;
    const pieces: ThinkPiece[] = [];
    if (this.#state === "undecided") this.#decide();
    if (this.#state === "thinking") this.#takeThoughts(pieces);
    if (this.#state === "text") this.#take(pieces, "text", this.#held.length);
    return pieces;
  }

  /** Returns the text still held back, at the end of the content or when other content interrupts it. */
  flush(): readonly ThinkPiece[] {
    const pieces: ThinkPiece[] = [];
    if (this.#state === "undecided") this.#state = "text";
    this.#take(pieces, this.#state === "thinking" ? "reasoning" : "text", this.#held.length);
    return pieces;
  }

  #decide(): void {
    const trimmed = this.#held.trimStart();
    if (trimmed.startsWith(OPEN)) {
      this.#state = "thinking";
      this.#held = trimmed.slice(OPEN.length);
      this.#skipSpace = true;
      return;
    }
    const couldStillOpen =
      OPEN.startsWith(trimmed) && this.#held.length - trimmed.length <= MAX_LEADING_SPACE;
    if (!couldStillOpen) this.#state = "text";
  }

  #takeThoughts(pieces: ThinkPiece[]): void {
    const close = this.#held.indexOf(CLOSE);
    if (close < 0) {
      this.#take(pieces, "reasoning", this.#held.length - partialCloseLength(this.#held));
      return;
    }
    this.#take(pieces, "reasoning", close);
    this.#held = this.#held.slice(this.#held.indexOf(CLOSE) + CLOSE.length);
    this.#state = "text";
    this.#skipSpace = true;
  }

  /** Moves the first `length` held characters to the pieces. */
  #take(pieces: ThinkPiece[], kind: ThinkPiece["kind"], length: number): void {
    const taken = this.#held.slice(0, length);
    const text = this.#skipSpace ? taken.trimStart() : taken;
    this.#held = this.#held.slice(length);
    if (text === "") return;
    this.#skipSpace = false;
    pieces.push({ kind, text });
  }
}

/** Returns how many characters at the end of the text may be the beginning of `</think>`. */
function partialCloseLength(text: string): number {
  for (let length = Math.min(CLOSE.length - 1, text.length); length > 0; length--) {
    if (text.endsWith(CLOSE.slice(0, length))) return length;
  }
  return 0;
}
