import type { JsonObject } from "../../../lib/json.ts";

/** A piece of an item's content: what the model says, refuses, thinks, or writes into a call. */
export type PieceKind = "text" | "refusal" | "summary" | "thought" | "arguments" | "input";

/** One item of an output under way: writes what its pieces bring, however they come. */
export interface OutputItem {
  /** It has brought something. */
  readonly hasContent: boolean;
  /** The next piece of a part of the content; parts are numbered. Kinds that such an item does not have are left out. */
  add(kind: PieceKind, part: number, text: string, extra?: JsonObject): void;
  /** A part is told once more as a whole: brings what its pieces have not brought. */
  complete(kind: PieceKind, part: number, text: string): void;
  /** Nothing comes any more. */
  end(): void;
}
