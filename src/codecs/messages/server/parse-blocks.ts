import type {
  CacheControl,
  DocumentPart,
  ImagePart,
  TextPart,
  UserPart,
} from "../../../core/chat/chat-request.ts";
import { formatPath } from "../../../lib/json/value-faults.ts";
import { invalidValue } from "../../shared/check-request.ts";
import { parseMediaUrl } from "../../shared/media-url.ts";
import type { ContentBlock } from "./wire-blocks.ts";

type Path = readonly PropertyKey[];
type Part = TextPart | ImagePart | DocumentPart;
type Block<Type extends ContentBlock["type"]> = Extract<ContentBlock, { type: Type }>;
type Marked = { readonly cache_control?: object | null | undefined };

/** Parses the content of a user turn, a call's result or a document. Empty texts are dropped. */
export function parseContent(
  content: string | readonly ContentBlock[] | null | undefined,
  path: Path,
): Part[] {
  if (content == null) return [];
  if (typeof content === "string") return parseText({ text: content });
  return content.flatMap((block, index) => parseBlock(block, [...path, index]));
}

/** Parses one block. The plain text in a document becomes text. */
export function parseBlock(block: ContentBlock, path: Path): Part[] {
  switch (block.type) {
    case "text":
      return parseText(block);
    case "image":
      return [parseImage(block, path)];
    case "document":
      return parseDocument(block, path);
    case "search_result": {
      const said = block.content.map(({ text }) => text);
      return parseText(block, [block.title, block.source, ...said]);
    }
    case "tool_reference":
      return parseText(block, [block.tool_name]);
  }
}

/** Parses a block's text, or joins several texts into one. */
export function parseText(
  block: Marked & { readonly text?: unknown },
  texts?: readonly string[],
): TextPart[] {
  const text = texts?.filter((one) => one !== "").join("\n\n") ?? block.text;
  return typeof text !== "string" || text === ""
    ? []
    : [{ type: "text", text, ...readCacheControl(block) }];
}

/** A cache breakpoint, or none, to be spread into a part. */
export interface Mark {
  readonly cacheControl?: CacheControl;
}

/** Returns a block's cache breakpoint. */
export function readCacheControl({ cache_control }: Marked): Mark {
  return cache_control == null ? {} : { cacheControl: cache_control as CacheControl };
}

/** Puts a cache breakpoint on the last part, unless it has one of its own. */
export function markLastPart<Kind extends UserPart>(parts: readonly Kind[], mark: Mark): Kind[] {
  return parts.map((part, index) => (index === parts.length - 1 ? { ...mark, ...part } : part));
}

function parseImage(block: Block<"image">, path: Path): ImagePart {
  return {
    type: "image",
    source: parseSource(block.source, [...path, "source"], "image"),
    at: formatPath(path),
    ...readCacheControl(block),
  };
}

function parseDocument(block: Block<"document">, path: Path): Part[] {
  const { source, title, context } = block;
  const heads = [title, context].filter((head) => head != null);
  switch (source.type) {
    case "text":
      return parseText(block, [...heads, source.data]);
    case "content":
      return markLastPart(
        [...parseText({}, heads), ...parseContent(source.content, [...path, "source", "content"])],
        readCacheControl(block),
      );
    case "base64":
    case "url": {
      const document: DocumentPart = {
        type: "document",
        source: parseSource(source, [...path, "source"], "document"),
        at: formatPath(path),
        ...(title != null && { title }),
        ...readCacheControl(block),
      };
      return [...(context == null ? [] : parseText({}, [context])), document];
    }
  }
}

type MediaKind = "image" | "document";

const MEDIA_TYPES: Readonly<Record<MediaKind, RegExp>> = {
  image: /^image\//i,
  document: /^(application|text)\//i,
};

function parseSource(
  source: Block<"image">["source"],
  path: Path,
  kind: MediaKind,
): ImagePart["source"] {
  if (source.type === "url") return parseMediaUrl(source.url, [...path, "url"], kind);
  const { media_type, data } = source;
  if (!MEDIA_TYPES[kind].test(media_type)) {
    const expected = kind === "image" ? "a media type such as image/png" : "application/pdf";
    throw invalidValue([...path, "media_type"], expected, media_type);
  }
  return { kind: "base64", mediaType: media_type.toLowerCase(), data };
}
