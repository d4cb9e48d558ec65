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
import type { WireFile, WireImage, WirePart } from "./wire.ts";

type Path = readonly PropertyKey[];
type Content = string | readonly WirePart[] | null | undefined;
export type ContentPart = TextPart | ImagePart | DocumentPart | AudioPart | RefusalPart;

/** The parts of a content; an empty text is no part. */
export function parseContent(content: Content, path: Path): ContentPart[] {
  if (content == null || content === "") return [];
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.map((part, index) => parsePart(part, [...path, index]));
}

function parsePart(part: WirePart, path: Path): ContentPart {
  switch (part.type) {
    case "input_text":
    case "output_text":
      return { type: "text", text: part.text };
    case "refusal":
      return { type: "refusal", text: part.refusal };
    case "input_audio": {
      const { data, format } = part.input_audio;
      return { type: "audio", data, format, at: formatPath(path) };
    }
    case "input_image":
      return parseImage(part, path);
    case "input_file":
      return parseFile(part, path);
  }
}

function parseImage({ image_url, file_id, detail }: WireImage, path: Path): ImagePart {
  if (file_id != null) throw fileIdRefused(path, "the image itself in 'image_url'");
  if (image_url == null) throw invalidValue([...path, "image_url"], "a string", image_url);
  const source = parseMediaUrl(image_url, [...path, "image_url"], "image");
  return { type: "image", source, at: formatPath(path), ...(detail != null && { detail }) };
}

function parseFile(file: WireFile, path: Path): DocumentPart | TextPart {
  const { file_data, file_url, file_id, filename } = file;
  if (file_id != null) throw fileIdRefused(path, "the file itself in 'file_data'");
  const [url, name] = file_data == null ? [file_url, "file_url"] : [file_data, "file_data"];
  if (url == null) throw invalidValue([...path, "file_data"], "a string", file_data);
  const source = parseMediaUrl(url, [...path, name], "document");
  if (source.kind === "base64" && source.mediaType.startsWith("text/")) {
    const text = decodeBase64Text(source.data);
    if (text === undefined) throw invalidValue([...path, name], "text in UTF-8 as base64", url);
    return { type: "text", text: filename ? `${filename}:\n\n${text}` : text };
  }
  return {
    type: "document",
    source,
    at: formatPath(path),
    ...(filename != null && { title: filename }),
  };
}

function fileIdRefused(path: Path, instead: string): ServiceError {
  const param = formatPath([...path, "file_id"]);
  return new ServiceError(
    "unsupported_parameter",
    `'${param}' cannot be used: files are not stored here. Send ${instead}.`,
    { param },
  );
}
