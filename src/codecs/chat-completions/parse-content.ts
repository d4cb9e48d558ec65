import type { AudioPart, ImagePart, RefusalPart, TextPart } from "../../core/chat-request.ts";
import { formatPath } from "../check-request.ts";
import { parseMediaUrl } from "../media-url.ts";
import type { WirePart } from "./wire.ts";

type Path = readonly PropertyKey[];
type Content = string | readonly WirePart[] | null | undefined;

/** The parts of a message's content; an empty text is no part. */
export function parseContent(
  content: Content,
  path: Path,
): (TextPart | ImagePart | AudioPart | RefusalPart)[] {
  if (content == null || content === "") return [];
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.map((part, index) => parsePart(part, [...path, index]));
}

function parsePart(part: WirePart, path: Path): TextPart | ImagePart | AudioPart | RefusalPart {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "refusal":
      return { type: "refusal", text: part.refusal };
    case "input_audio":
      return { type: "audio", ...part.input_audio, at: formatPath(path) };
    case "image_url":
      return parseImage(part.image_url, path);
  }
}

type WireImage = Extract<WirePart, { type: "image_url" }>["image_url"];

function parseImage(image: WireImage, path: Path): ImagePart {
  const [url, urlPath] =
    typeof image === "string" ? [image, ["image_url"]] : [image.url, ["image_url", "url"]];
  const source = parseMediaUrl(url, [...path, ...urlPath], "image");
  const detail = typeof image === "string" ? null : image.detail;
  return { type: "image", source, at: formatPath(path), ...(detail != null && { detail }) };
}
