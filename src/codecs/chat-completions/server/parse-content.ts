import type {
  AudioPart,
  DocumentPart,
  ImagePart,
  ReasoningPart,
  RefusalPart,
  TextPart,
} from "../../../core/chat/chat-request.ts";
import { formatPath } from "../../../lib/json/value-faults.ts";
import { invalidValue } from "../../shared/check-request.ts";
import { parseMediaUrl } from "../../shared/media-url.ts";
import { fileIdRefused, parseFile } from "../../shared/parse-file.ts";
import { thinkingText } from "../read-content.ts";
import type { WireFile, WireImage, WirePart } from "./wire-parts.ts";

type Path = readonly PropertyKey[];
type Content = string | readonly WirePart[] | null | undefined;
export type ContentPart =
  | TextPart
  | ImagePart
  | AudioPart
  | DocumentPart
  | RefusalPart
  | ReasoningPart;

/** Parses the content of a message. Empty content has no parts. */
export function parseContent(content: Content, path: Path): ContentPart[] {
  if (content == null || content === "") return [];
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.map((part, index) => parsePart(part, [...path, index]));
}

function parsePart(part: WirePart, path: Path): ContentPart {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "refusal":
      return { type: "refusal", text: part.refusal };
    case "thinking":
      return { type: "reasoning", text: thinkingText(part.thinking) };
    case "input_audio":
      return { type: "audio", ...part.input_audio, at: formatPath(path) };
    case "image_url":
      return parseImage(part.image_url, path);
    case "file":
      return parseFilePart(part.file, path);
  }
}

function parseImage(image: WireImage, path: Path): ImagePart {
  const [url, urlPath] =
    typeof image === "string" ? [image, ["image_url"]] : [image.url, ["image_url", "url"]];
  const source = parseMediaUrl(url, [...path, ...urlPath], "image");
  const detail = typeof image === "string" ? null : image.detail;
  return { type: "image", source, at: formatPath(path), ...(detail != null && { detail }) };
}

function parseFilePart(
  { file_data, file_id, filename }: WireFile,
  path: Path,
): DocumentPart | TextPart {
  if (file_id != null) {
    throw fileIdRefused([...path, "file", "file_id"], "the file itself in 'file_data'");
  }
  const urlPath = [...path, "file", "file_data"];
  if (file_data == null) throw invalidValue(urlPath, "a string", file_data);
  return parseFile({ url: file_data, urlPath, filename, path });
}
