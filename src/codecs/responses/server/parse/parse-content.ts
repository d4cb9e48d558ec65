import type {
  AudioPart,
  DocumentPart,
  ImagePart,
  RefusalPart,
  TextPart,
} from "../../../../core/chat/chat-request.ts";
import type { ServiceError } from "../../../../core/service-error.ts";
import { formatPath } from "../../../../lib/json/value-faults.ts";
import { invalidValue } from "../../../shared/check-request.ts";
import { parseMediaUrl } from "../../../shared/media-url.ts";
import { fileIdRefused, parseFile } from "../../../shared/parse-file.ts";
import type { WireFile, WireImage, WirePart } from "../wire.ts";

type Path = readonly PropertyKey[];
type Content = string | readonly WirePart[] | null | undefined;
export type ContentPart = TextPart | ImagePart | DocumentPart | AudioPart | RefusalPart;

/** Parses a content. Empty content has no parts. */
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
      return parseInputFile(part, path);
  }
}

function parseImage({ image_url, file_id, detail }: WireImage, path: Path): ImagePart {
  if (file_id != null) throw refuseFileId(path, "the image itself in 'image_url'");
  if (image_url == null) throw invalidValue([...path, "image_url"], "a string", image_url);
  const source = parseMediaUrl(image_url, [...path, "image_url"], "image");
  return { type: "image", source, at: formatPath(path), ...(detail != null && { detail }) };
}

function parseInputFile(file: WireFile, path: Path): DocumentPart | TextPart {
  const { file_data, file_url, file_id, filename } = file;
  if (file_id != null) throw refuseFileId(path, "the file itself in 'file_data'");
  const [url, name] = file_data == null ? [file_url, "file_url"] : [file_data, "file_data"];
  if (url == null) throw invalidValue([...path, "file_data"], "a string", file_data);
  return parseFile({ url, urlPath: [...path, name], filename, path });
}

function refuseFileId(path: Path, instead: string): ServiceError {
  return fileIdRefused([...path, "file_id"], instead);
}
