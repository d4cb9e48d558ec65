import type { DeltaEvent } from "./chat-event.ts";

type Pieces = Pick<DeltaEvent, "text" | "literals">;

/** Writes one frame for each piece of a text: its JSON literal between `head` and `tail`. */
export function frameLiterals({ text, literals }: Pieces, head: string, tail: string): string {
  if (literals === undefined) return head + JSON.stringify(text) + tail;
  return `${head}"${literals.join(`"${tail}${head}"`)}"${tail}`;
}
