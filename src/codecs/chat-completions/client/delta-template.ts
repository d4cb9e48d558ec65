import { isJsonObject } from "../../../lib/json/json.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const FIRST_PLAIN = 0x20;

/** A string that no vendor sends, so that finding it proves where it was inserted. */
const PROBE = "\u0000probe\u0000";

/**
 * The text of one event around the piece of answer it carries. The events of a stream differ only in that piece, so the
 * next one is read without parsing its JSON.
 *
 * Exact: `learn` proves that the string literal it cuts out is the value that `find` reads. Another literal in its
 * place gives JSON that differs only in that value. An event with any other difference does not match and is parsed
 * normally.
 */
export class DeltaTemplate {
  readonly #before: string;
  readonly #after: string;
  #eventEnd = 0;
  #literal = "";

  private constructor(before: string, after: string) {
    this.#before = before;
    this.#after = after;
  }

  /**
   * Returns undefined when the piece cannot be cut out.
   * @param data the data of an event in which `find` reads `piece`.
   */
  static learn(
    data: string,
    piece: string,
    find: (json: unknown) => unknown,
  ): DeltaTemplate | undefined {
    const literal = `"${piece}"`;
    const start = data.indexOf(literal);
    if (start < 0 || /[\r\n]/.test(data)) return undefined;
    const before = data.slice(0, start + 1);
    const after = data.slice(start + literal.length - 1);
    const probed = parse(`${before.slice(0, -1)}${JSON.stringify(PROBE)}${after.slice(1)}`);
    if (!isJsonObject(probed) || find(probed) !== PROBE) return undefined;
    return new DeltaTemplate(`data: ${before}`, `${after}\n\n`);
  }

  /** The index after the event that `read` found. */
  get eventEnd(): number {
    return this.#eventEnd;
  }

  /** The piece that `read` returned as `JSON.stringify` writes it, without its quotes. */
  get literal(): string {
    return this.#literal;
  }

  /** Returns the piece in an event at `start`; undefined when the event does not match. */
  read(text: string, start: number): string | undefined {
    const pieceStart = start + this.#before.length;
    // Faster than `startsWith` on both JavaScript engines.
    if (text.slice(start, pieceStart) !== this.#before) return undefined;
    let index = pieceStart;
    let hasEscapes = false;
    for (;;) {
      const code = text.charCodeAt(index);
      if (code === QUOTE) break;
      // Rejects control characters, which JSON forbids, and NaN, which is read after the end.
      if (!(code >= FIRST_PLAIN)) return undefined;
      hasEscapes ||= code === BACKSLASH;
      index += code === BACKSLASH ? 2 : 1;
    }
    const end = index + this.#after.length;
    if (text.slice(index, end) !== this.#after) return undefined;
    this.#eventEnd = end;
    const literal = text.slice(pieceStart, index);
    this.#literal = literal;
    if (!hasEscapes) return literal;
    const piece = unescaped(literal);
    // A character can be escaped in several ways.
    if (piece !== undefined) this.#literal = JSON.stringify(piece).slice(1, -1);
    return piece;
  }
}

function unescaped(piece: string): string | undefined {
  const value = parse(`"${piece}"`);
  return typeof value === "string" ? value : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
