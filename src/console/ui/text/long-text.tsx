import { useState } from "react";
import { Button } from "../buttons/button.tsx";

interface LongTextProps {
  readonly text: string;
  /** What it is, for the button that shows more of it: "paragraph". */
  readonly what: string;
  /** Code keeps its font and its line breaks, and is read as code. */
  readonly isCode?: boolean;
}

/** Characters that are laid out at once; browsers take seconds for megabytes. */
const PIECE = 64 * 1024;

/** A text of any length with its own line breaks. A piece of it is shown, and the next when somebody asks for it. */
export function LongText({ text, what, isCode = false }: LongTextProps) {
  const [shown, setShown] = useState(1);
  const pieces = piecesOf(text, shown);
  const left = text.length - pieces.reduce((sum, { length }) => sum + length, 0);
  const Piece = isCode ? "pre" : "p";
  return (
    <>
      {pieces.map((piece, index) => (
        <Piece
          // biome-ignore lint/suspicious/noArrayIndexKey: a piece is its place, and only the last one grows
          key={index}
          className={
            isCode
              ? "font-mono text-sm break-words whitespace-pre-wrap"
              : "break-words whitespace-pre-wrap"
          }
        >
          {piece}
        </Piece>
      ))}
      {left > 0 && <Button onClick={() => setShown(shown + 1)}>Show more of this {what}</Button>}
    </>
  );
}

/** Cuts behind a line or a word, where there is one near the end of a piece. */
function piecesOf(text: string, most: number): readonly string[] {
  const pieces: string[] = [];
  for (let start = 0; pieces.length < most && start < text.length; ) {
    const piece = text.slice(start, start + PIECE);
    const isLast = start + piece.length === text.length;
    const end = isLast ? piece.length : endNear(piece);
    pieces.push(piece.slice(0, end));
    start += end;
  }
  return pieces.length === 0 ? [text] : pieces;
}

const NEAR = 1024;

function endNear(piece: string): number {
  const from = piece.length - NEAR;
  const at = Math.max(piece.lastIndexOf("\n"), piece.lastIndexOf(" "));
  if (at > from) return at + 1;
  // Not between the halves of a character.
  return /[\ud800-\udbff]$/.test(piece) ? piece.length - 1 : piece.length;
}
