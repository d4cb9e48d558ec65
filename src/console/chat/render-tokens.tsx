import type { MarkedToken, Tokens } from "marked";
import { type ComponentType, Fragment, type ReactNode } from "react";
import { decodeReferences } from "./decode-references.ts";
import type { AnswerToken, FormulaToken } from "./lex.ts";
import { hostOf, safeLink, safePicture } from "./safe-link.ts";

/** What the tokens of an answer are shown with; the page brings them. */
export interface AnswerParts {
  readonly Code: ComponentType<{ readonly text: string; readonly language: string }>;
  readonly Formula: ComponentType<{ readonly text: string; readonly display: boolean }>;
  readonly Link: ComponentType<{
    readonly href: string;
    readonly host: string;
    readonly asks: boolean;
    readonly children: ReactNode;
  }>;
  /** `inside` draws what stands in a cell. */
  readonly Table: ComponentType<{
    readonly table: Tokens.Table;
    readonly inside: (cell: Tokens.TableCell) => ReactNode;
  }>;
  /** A picture that is never loaded. */
  readonly PictureCard: ComponentType<{ readonly host: string; readonly text: string }>;
}

/** Deeper than this, an answer is shown as its text: the page's own stack is no deeper. */
const MAX_DEPTH = 40;

/** Makes elements of tokens. Nothing becomes HTML but what stands here, so an answer cannot bring elements of its own. */
export function renderTokens(
  tokens: readonly AnswerToken[],
  parts: AnswerParts,
  depth = 0,
): ReactNode {
  if (depth > MAX_DEPTH) return tokens.map(({ raw }) => raw).join("");
  return tokens.map((token, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no names, and only the last ones change
    <Fragment key={index}>{renderToken(token, parts, depth)}</Fragment>
  ));
}

function renderToken(token: AnswerToken, parts: AnswerParts, depth: number): ReactNode {
  if (token.type === "formula") {
    const { text, display } = token as FormulaToken;
    return <parts.Formula text={text} display={display} />;
  }
  const inside = (inner: readonly AnswerToken[] | undefined) =>
    renderTokens(inner ?? [], parts, depth + 1);
  const known = token as MarkedToken;
  switch (known.type) {
    case "space":
    case "def":
      return null;
    case "paragraph":
      return <p>{inside(known.tokens)}</p>;
    case "heading":
      return heading(known.depth, inside(known.tokens));
    case "blockquote":
      return <blockquote>{inside(known.tokens)}</blockquote>;
    case "list":
      return list(known, parts, depth + 1);
    case "code":
      return <parts.Code text={known.text} language={known.lang?.split(/\s/, 1)[0] ?? ""} />;
    case "checkbox":
      return (
        <>
          <input
            type="checkbox"
            aria-label={known.checked ? "Done" : "Not done"}
            checked={known.checked}
            disabled
            readOnly
          />{" "}
        </>
      );
    case "hr":
      return <hr />;
    case "table":
      return (
        <parts.Table
          table={known}
          inside={({ tokens: inner }) => renderTokens(inner, parts, depth + 2)}
        />
      );
    case "strong":
      return <strong>{inside(known.tokens)}</strong>;
    case "em":
      return <em>{inside(known.tokens)}</em>;
    case "del":
      return <del>{inside(known.tokens)}</del>;
    case "codespan":
      return <code>{known.text}</code>;
    case "br":
      return <br />;
    case "link":
      return link(known, parts, inside(known.tokens));
    case "image":
      return picture(known, parts);
    case "text":
      return "tokens" in known && known.tokens
        ? inside(known.tokens)
        : decodeReferences(known.text);
    case "escape":
      return known.text;
    default:
      return known.raw;
  }
}

/** The page has a first heading of its own, and the message another; those of an answer stand below them. */
function heading(depth: number, children: ReactNode): ReactNode {
  const Heading = (["h3", "h4", "h5"] as const)[depth - 1] ?? "h6";
  return <Heading>{children}</Heading>;
}

function list(
  { ordered, start, items }: Tokens.List,
  parts: AnswerParts,
  depth: number,
): ReactNode {
  const children = items.map((item, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: items have no names, and only the last ones change
    <li key={index}>{renderTokens(item.tokens, parts, depth)}</li>
  ));
  if (!ordered) return <ul>{children}</ul>;
  return <ol start={typeof start === "number" ? start : 1}>{children}</ol>;
}

function link({ href, raw }: Tokens.Link, parts: AnswerParts, children: ReactNode): ReactNode {
  // What is checked is what is opened.
  const safe = safeLink(decodeReferences(href));
  if (safe.kind === "text") return raw;
  return (
    <parts.Link href={safe.href} host={safe.host} asks={safe.asks}>
      {children}
    </parts.Link>
  );
}

function picture(token: Tokens.Image, parts: AnswerParts): ReactNode {
  const [href, text] = [decodeReferences(token.href), decodeReferences(token.text)];
  const own = safePicture(href);
  if (own !== undefined) return <img src={own} alt={text} />;
  return <parts.PictureCard host={hostOf(href)} text={text} />;
}
