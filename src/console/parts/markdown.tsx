import { memo, useMemo, useRef, useState } from "react";
import { type Block, Blocks } from "../chat/blocks.ts";
import { lex } from "../chat/lex.ts";
import { type AnswerParts, renderTokens } from "../chat/render-tokens.tsx";
import { formatExact } from "../lib/count.ts";
import { Button } from "../ui/button.tsx";
import { LongText } from "../ui/long-text.tsx";
import { useGrowing } from "../ui/use-growing.ts";
import { AnswerCode } from "./answer-code.tsx";
import { AnswerFormula } from "./answer-formula.tsx";
import { AnswerLink, PictureCard } from "./answer-link.tsx";
import { AnswerTable } from "./answer-table.tsx";

const PARTS: AnswerParts = {
  Code: AnswerCode,
  Formula: AnswerFormula,
  Link: AnswerLink,
  Table: AnswerTable,
  PictureCard,
};
/** Blocks that are shown before somebody asks for more: a page of 100,000 paragraphs would not answer. */
const SHOWN_BLOCKS = 300;
/** Characters of Markdown that are read and drawn at once; a longer answer grows from turn to turn. */
const DRAWN_AT_ONCE = 16 * 1024;
/** What a block and a line cost besides their characters: a frame with a button, an item of a list, the cells of a row. */
const BLOCK = 400;
const LINE = 32;
const GROWING = { weightOf, most: DRAWN_AT_ONCE };

/** What a model wrote, as Markdown. Only the block that grows is read and drawn again. */
export function Markdown({ text }: { readonly text: string }) {
  const reader = useRef<Blocks>(undefined);
  reader.current ??= new Blocks();
  const blocks = reader.current.read(text);
  const [most, setMost] = useState(SHOWN_BLOCKS);
  const shown = blocks.length > most ? blocks.slice(0, most) : blocks;
  const drawn = useGrowing(shown, GROWING);
  return (
    <div className="answer" aria-busy={drawn < shown.length || undefined}>
      {(drawn < shown.length ? shown.slice(0, drawn) : shown).map((block) => (
        <BlockView key={block.start} block={block} />
      ))}
      {blocks.length > most && (
        <Button onClick={() => setMost(most + SHOWN_BLOCKS)}>
          Show more of {formatExact(blocks.length - most)} paragraphs
        </Button>
      )}
    </div>
  );
}

function weightOf({ text, kind }: Block): number {
  const lines = kind === "markdown" ? text.split("\n").length : 0;
  return BLOCK + LINE * lines + text.length;
}

const BlockView = memo(function BlockView({ block }: { readonly block: Block }) {
  const tokens = useMemo(() => lex(block), [block]);
  if (block.kind === "code")
    return <AnswerCode text={block.text} language={block.language ?? ""} />;
  if (tokens === undefined) return <LongText text={block.text} what="paragraph" />;
  return renderTokens(tokens, PARTS);
});
