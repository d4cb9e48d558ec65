import type { DocumentPart, MediaSource, UserPart } from "../../../core/chat-request.ts";
import { ServiceError } from "../../../core/service-error.ts";
import type { JsonObject, JsonValue } from "../../../lib/json.ts";

/** The content of a message or of a tool's result: a lone text as a plain string. Throws on sound. */
export function buildContent(parts: readonly UserPart[]): JsonValue {
  const [first] = parts;
  if (first === undefined) return "";
  if (parts.length === 1 && first.type === "text") return first.text;
  return parts.map(buildPart);
}

function buildPart(part: UserPart): JsonObject {
  switch (part.type) {
    case "text":
      return { type: "input_text", text: part.text };
    case "image":
      return { type: "input_image", image_url: mediaUrl(part.source), detail: part.detail };
    case "document":
      return buildDocument(part);
    case "audio":
      throw new ServiceError(
        "unsupported_parameter",
        `'${part.at ?? "messages"}' is sound, which this model does not take.`,
        { param: part.at },
      );
  }
}

function buildDocument({ source, title }: DocumentPart): JsonObject {
  if (source.kind === "url") return { type: "input_file", file_url: source.url };
  return { type: "input_file", filename: title ?? "document.pdf", file_data: mediaUrl(source) };
}

function mediaUrl(source: MediaSource): string {
  return source.kind === "url" ? source.url : `data:${source.mediaType};base64,${source.data}`;
}
