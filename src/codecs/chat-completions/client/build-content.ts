import type {
  AudioPart,
  DocumentPart,
  MediaSource,
  UserPart,
} from "../../../core/chat/chat-request.ts";
import { ServiceError } from "../../../core/service-error.ts";
import type { JsonObject, JsonValue } from "../../../lib/json/json.ts";
import type { Dialect } from "./dialect.ts";

/** Builds the content of a message. A single text becomes a plain string, which every chat template accepts. */
export function buildContent(parts: readonly UserPart[], dialect: Dialect): JsonValue {
  const [first] = parts;
  if (first === undefined) return "";
  if (parts.length === 1 && first.type === "text") return first.text;
  return parts.map((part) => buildPart(part, dialect));
}

function buildPart(part: UserPart, dialect: Dialect): JsonObject {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "image":
      return { type: "image_url", image_url: { url: mediaUrl(part.source), detail: part.detail } };
    case "audio":
      return { type: "input_audio", input_audio: buildSound(part, dialect) };
    case "document":
      return buildDocument(part, dialect);
  }
}

function buildSound({ data, format }: AudioPart, { sound }: Dialect): JsonValue {
  return sound === "bare" ? data : { data, format };
}

/** Throws when the document is given by a URL that the server does not fetch. */
function buildDocument({ source, title, at }: DocumentPart, { documents }: Dialect): JsonObject {
  if (documents === "document_url") {
    return { type: "document_url", document_url: mediaUrl(source), document_name: title };
  }
  if (source.kind === "url") {
    throw new ServiceError(
      "unsupported_parameter",
      `'${at ?? "messages"}' is a document URL, which this model's server does not fetch. Send the content as base64.`,
      { param: at },
    );
  }
  return { type: "file", file: { filename: title ?? "document.pdf", file_data: mediaUrl(source) } };
}

function mediaUrl(source: MediaSource): string {
  return source.kind === "url" ? source.url : `data:${source.mediaType};base64,${source.data}`;
}
