import { memo, useMemo, useRef, useState } from "react";
import { type Block, Blocks } from "../../chat/blocks.ts";
import { lex } from "../../chat/lex.ts";
import { type AnswerParts, renderTokens } from "../../chat/render-tokens.tsx";
import { Button } from "../../ui/buttons/button.tsx";
import { useGrowing } from "../../ui/drawing/use-growing.ts";
import { LongText } from "../../ui/text/long-text.tsx";
import { AnswerCode } from "./answer-code.tsx";
import { AnswerFormula } from "./answer-formula.tsx";
import { AnswerLink, PictureCard } from "./answer-link.tsx";
import { AnswerTable } from "./answer-table.tsx";

/** What the tokens of an answer are shown with. */
export const PARTS: AnswerParts = {
  Code: AnswerCode,
  Formula: AnswerFormula,
  Link: AnswerLink,
  Table: AnswerTable,
  PictureCard,
};
/** What is shown of an answer before somebody asks for more: a page of 100,000 paragraphs or items would not answer. */
const SHOWN_BLOCKS = 300;
const SHOWN_WEIGHT = 256 * 1024;
/** What is read and drawn at once; a longer answer grows from turn to turn. */
const DRAWN_AT_ONCE = 16 * 1024;
/** What a block and a line cost besides their characters: a frame with a button, an item of a list, the cells of a row. */
const BLOCK = 400;
const LINE = 32;
const GROWING = { weightOf, most: DRAWN_AT_ONCE };

/** What a model wrote, as Markdown. Only the block that grows is read and drawn again. */
export function Markdown({ text }: { readonly text: string }) {
  const reader = useRef<Blocks>(undefined);
  reader.current ??= new Blocks();
  const [steps, setSteps] = useState(1);
  const { blocks, end } = reader.current.read(text, steps * SHOWN_BLOCKS);
  const shown = firstOf(blocks, steps * SHOWN_WEIGHT);
  const drawn = useGrowing(shown, GROWING);
  return (
    <div className="answer" aria-busy={drawn < shown.length || undefined}>
      {groupsOf(shown.slice(0, drawn)).map((group) => (
        <BlockGroup key={group[0]?.start} blocks={group} />
      ))}
      {(shown.length < blocks.length || end < text.length) && (
        <Button onClick={() => setSteps(steps + 1)}>Show more of this answer</Button>
      )}
    </div>
  );
}

/** Blocks that are compared with those of the drawing before at once. */
const GROUP = 16;

function groupsOf(blocks: readonly Block[]): readonly (readonly Block[])[] {
  return Array.from({ length: Math.ceil(blocks.length / GROUP) }, (_, index) =>
    blocks.slice(index * GROUP, (index + 1) * GROUP),
  );
}

/** Some blocks that follow each other; as long as these are the same ones, none of them is looked at. */
const BlockGroup = memo(
  function BlockGroup({ blocks }: { readonly blocks: readonly Block[] }) {
    return blocks.map((block) => <BlockView key={block.start} block={block} />);
  },
  ({ blocks }, { blocks: now }) =>
    blocks.length === now.length && blocks.every((block, index) => block === now[index]),
);

/** Returns the first blocks that together weigh no more than that, or the first one. */
function firstOf(blocks: readonly Block[], most: number): readonly Block[] {
  let weight = 0;
  const end = blocks.findIndex((block, index) => {
    weight += weightOf(block);
    return index > 0 && weight > most;
  });
  return end < 0 ? blocks : blocks.slice(0, end);
}

/** Settled blocks are weighed once: an answer that grows is drawn with each token. */
const weights = new WeakMap<Block, number>();

function weightOf(block: Block): number {
  const known = weights.get(block);
  if (known !== undefined) return known;
  const lines = block.kind === "markdown" ? block.text.split("\n").length : 0;
  const weight = BLOCK + LINE * lines + Math.min(block.text.length, DRAWN_AT_ONCE);
  weights.set(block, weight);
  return weight;
}

const BlockView = memo(function BlockView({ block }: { readonly block: Block }) {
  const tokens = useMemo(() => lex(block), [block]);
  if (block.kind === "code")
    return <AnswerCode text={block.text} language={block.language ?? ""} isOpen={block.isOpen} />;
  if (tokens === undefined) return <LongText text={block.text} what="paragraph" />;
  return renderTokens(tokens, PARTS);
});
