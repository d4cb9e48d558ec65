import type {
  AudioPart,
  DocumentPart,
  ImagePart,
  RefusalPart,
  TextPart,
} from "../../core/chat-request.ts";
import { ServiceError } from "../../core/service-error.ts";
import { decodeBase64Text } from "../../lib/base64-text.ts";
import { formatPath, invalidValue } from "../check-request.ts";
import { parseMediaUrl } from "../media-url.ts";
import type { WireFile, WireImage, WirePart } from "./wire-parts.ts";

type Path = readonly PropertyKey[];
type Content = string | readonly WirePart[] | null | undefined;
export type ContentPart = TextPart | ImagePart | AudioPart | DocumentPart | RefusalPart;

/** The parts of a message's content; an empty text is no part. */
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
    case "input_audio":
      return { type: "audio", ...part.input_audio, at: formatPath(path) };
    case "image_url":
      return parseImage(part.image_url, path);
    case "file":
      return parseFile(part.file, path);
  }
}

function parseImage(image: WireImage, path: Path): ImagePart {
  const [url, urlPath] =
    typeof image === "string" ? [image, ["image_url"]] : [image.url, ["image_url", "url"]];
  const source = parseMediaUrl(url, [...path, ...urlPath], "image");
  const detail = typeof image === "string" ? null : image.detail;
  return { type: "image", source, at: formatPath(path), ...(detail != null && { detail }) };
}

/** A file of plain text is text: every model reads it. */
function parseFile(
  { file_data, file_id, filename }: WireFile,
  path: Path,
): DocumentPart | TextPart {
  if (file_id != null) throw fileIdRefused([...path, "file", "file_id"]);
  const dataPath = [...path, "file", "file_data"];
  if (file_data == null) throw invalidValue(dataPath, "a string", file_data);
  const source = parseMediaUrl(file_data, dataPath, "document");
  if (source.kind === "base64" && source.mediaType.startsWith("text/")) {
    const text = decodeBase64Text(source.data);
    if (text === undefined) throw invalidValue(dataPath, "text in UTF-8 as base64", file_data);
    return { type: "text", text: filename ? `${filename}:\n\n${text}` : text };
  }
  const title = filename ? { title: filename } : {};
  return { type: "document", source, at: formatPath(path), ...title };
}

function fileIdRefused(path: Path): ServiceError {
  const param = formatPath(path);
  return new ServiceError(
    "unsupported_parameter",
    `'${param}' cannot be used: files are not stored here. Send the file itself in 'file_data'.`,
    { param },
  );
}
