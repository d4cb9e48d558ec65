import { memo, useMemo, useRef, useState } from "react";
import { type Block, Blocks } from "../chat/blocks.ts";
import { lex } from "../chat/lex.ts";
import { type AnswerParts, renderTokens } from "../chat/render-tokens.tsx";
import { Button } from "../ui/button.tsx";
import { AnswerCode } from "./answer-code.tsx";
import { AnswerFormula } from "./answer-formula.tsx";
import { AnswerLink, PictureCard } from "./answer-link.tsx";

/** What the tokens of an answer are shown with. */
export const PARTS: AnswerParts = {
  Code: AnswerCode,
  Formula: AnswerFormula,
  Link: AnswerLink,
  PictureCard,
};
/** Blocks that are shown before somebody asks for more: a page of 100,000 paragraphs would not answer. */
const SHOWN_BLOCKS = 300;
/** Characters of a block without Markdown that are shown before somebody asks for more. */
const SHOWN_PLAIN = 64 * 1024;

/** What a model wrote, as Markdown. Only the block that grows is read and drawn again. */
export function Markdown({ text }: { readonly text: string }) {
  const reader = useRef<Blocks>(undefined);
  reader.current ??= new Blocks();
  const blocks = reader.current.read(text);
  const [shown, setShown] = useState(SHOWN_BLOCKS);
  const isLong = blocks.length > shown;
  return (
    <div className="answer">
      {(isLong ? blocks.slice(0, shown) : blocks).map((block) => (
        <BlockView key={block.start} block={block} />
      ))}
      {isLong && (
        <Button onClick={() => setShown(shown + SHOWN_BLOCKS)}>
          Show more of {blocks.length - shown} paragraphs
        </Button>
      )}
    </div>
  );
}

const BlockView = memo(function BlockView({ block }: { readonly block: Block }) {
  const tokens = useMemo(() => lex(block), [block]);
  if (block.kind === "code")
    return <AnswerCode text={block.text} language={block.language ?? ""} />;
  if (tokens === undefined) return <Plain text={block.text} />;
  return renderTokens(tokens, PARTS);
});

function Plain({ text }: { readonly text: string }) {
  const [shown, setShown] = useState(SHOWN_PLAIN);
  return (
    <>
      <p className="break-words whitespace-pre-wrap">{text.slice(0, shown)}</p>
      {text.length > shown && (
        <Button onClick={() => setShown(shown * 2)}>Show more of this paragraph</Button>
      )}
    </>
  );
}
