import { Marked, type Token, type TokenizerAndRendererExtension, type Tokens } from "marked";
import type { Block } from "./blocks.ts";

/** A formula. `display` stands on lines of its own. */
export interface FormulaToken {
  readonly type: "formula";
  readonly raw: string;
  readonly text: string;
  readonly display: boolean;
}

interface FormulaRule {
  readonly name: string;
  readonly level: "block" | "inline";
  readonly begin: RegExp;
  readonly whole: RegExp;
}

export type AnswerToken = Token | FormulaToken;

const DISPLAY = /^(?:\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\])(?:[ \t]*(?:\n+|$))/;
/** Within a line; `$5 and $6` is money, so no space stands inside the marks and no digit behind them. */
const INLINE =
  /^(?:\$\$([^\n]+?)\$\$|\$(?!\s)((?:\\.|[^\\$\n])+?)(?<!\s)\$(?!\d)|\\\(([^\n]+?)\\\))/;

const lexer = new Marked({
  gfm: true,
  breaks: false,
  // Its own way looks for an address of mail from each character on, to the end of the block.
  tokenizer: { url: bareAddress },
  extensions: [
    formula({ name: "formulaBlock", level: "block", begin: /\$\$|\\\[/, whole: DISPLAY }),
    formula({ name: "formula", level: "inline", begin: /\$|\\\(/, whole: INLINE }),
  ],
});

/** Returns the tokens of a block of Markdown, or undefined for one that cannot be read and is shown as it is. */
export function lex(block: Block): readonly AnswerToken[] | undefined {
  if (block.kind !== "markdown") return undefined;
  try {
    return lexer.lexer(block.text);
  } catch {
    return undefined;
  }
}

function bareAddress(source: string): Tokens.Link | undefined {
  const [href] = /^https?:\/\/[^\s<>"'`]{1,2048}/.exec(source) ?? [];
  if (href === undefined) return undefined;
  // A sentence's end and a bracket around it do not belong to an address.
  const text = href.replace(/[.,;:!?)\]}*_~]+$/, "");
  const tokens: Token[] = [{ type: "text", raw: text, text, escaped: false }];
  return { type: "link", raw: text, href: text, text, title: null, tokens };
}

function formula({ name, level, begin, whole }: FormulaRule): TokenizerAndRendererExtension {
  return {
    name,
    level,
    start: (source) => {
      const at = source.search(begin);
      return at < 0 ? undefined : at;
    },
    tokenizer: (source) => {
      const found = whole.exec(source);
      if (found === null) return undefined;
      const text = found.slice(1).find((group) => group !== undefined) ?? "";
      return { type: "formula", raw: found[0], text: text.trim(), display: level === "block" };
    },
  };
}
