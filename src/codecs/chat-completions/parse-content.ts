import type { AudioPart, ImagePart, RefusalPart, TextPart } from "../../core/chat-request.ts";
import { invalidValue } from "./check-request.ts";
import type { WirePart } from "./wire.ts";

type Path = readonly PropertyKey[];
type Content = string | readonly WirePart[] | null | undefined;

const DATA_URL = /^data:([^,;]*)((?:;[^,;]*)*),/i;
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;
/** Long enough for any media type with its parameters. */
const MAX_DATA_URL_HEAD = 256;

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
      return { type: "audio", data: part.input_audio.data, format: part.input_audio.format };
    case "image_url":
      return parseImage(part.image_url, [...path, "image_url"]);
  }
}

type WireImage = Extract<WirePart, { type: "image_url" }>["image_url"];

function parseImage(image: WireImage, path: Path): ImagePart {
  if (typeof image === "string") return { type: "image", source: parseUrl(image, path) };
  const source = parseUrl(image.url, [...path, "url"]);
  return image.detail == null
    ? { type: "image", source }
    : { type: "image", source, detail: image.detail };
}

/** Engines open what they are given, their own files too, so nothing but these addresses may pass. */
function parseUrl(url: string, path: Path): ImagePart["source"] {
  if (/^https?:\/\//i.test(url)) return { kind: "url", url };
  const head = DATA_URL.exec(url.slice(0, MAX_DATA_URL_HEAD));
  const mediaType = head?.[1]?.toLowerCase() ?? "";
  const data = head === null ? "" : url.slice(head[0].length);
  // Some clients forget to say that it is base64.
  const isBase64 = /;base64$/i.test(head?.[2] ?? "") || BASE64.test(data);
  if (!mediaType.startsWith("image/") || !isBase64) {
    throw invalidValue(path, "an http(s) address or a base64 data URL of an image", url);
  }
  return { kind: "base64", mediaType, data };
}
