import type { AudioPart, DocumentPart, ImagePart } from "../../../core/chat/chat-request.ts";
import { ServiceError } from "../../../core/service-error.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import { decodeBase64Text } from "../../../lib/text/base64-text.ts";
import { cutText } from "../../../lib/text/cut-text.ts";
import { invalidValue } from "../../shared/check-request.ts";
import type { Block } from "./build-blocks.ts";

const MAX_TITLE_LENGTH = 500;

/** Builds the block of an image or a document. Throws a `ServiceError` for audio, which the vendor does not accept. */
export function buildMedia(part: ImagePart | DocumentPart | AudioPart): Block {
  switch (part.type) {
    case "image":
      return {
        fields: { type: "image", source: imageSource(part) },
        cacheControl: part.cacheControl,
      };
    case "document":
      return {
        fields: {
          type: "document",
          source: documentSource(part),
          title: (part.title && cutText(part.title, MAX_TITLE_LENGTH)) || undefined,
        },
        cacheControl: part.cacheControl,
      };
    case "audio":
      throw audioRefused(part);
  }
}

function imageSource({ source }: ImagePart): JsonObject {
  if (source.kind === "url") return { type: "url", url: source.url };
  // A common misnomer, which the vendor refuses.
  const mediaType = source.mediaType === "image/jpg" ? "image/jpeg" : source.mediaType;
  return { type: "base64", media_type: mediaType, data: source.data };
}

function documentSource({ source, at }: DocumentPart): JsonObject {
  if (source.kind === "url") return { type: "url", url: source.url };
  const { mediaType, data } = source;
  // The vendor accepts base64 only for PDFs; a text file is sent as text.
  if (mediaType.startsWith("text/")) {
    return { type: "text", media_type: "text/plain", data: decodeText(data, at) };
  }
  return { type: "base64", media_type: mediaType, data };
}

function decodeText(base64: string, at = "messages"): string {
  const text = decodeBase64Text(base64);
  if (text === undefined) throw invalidValue([at], "base64 of UTF-8 text", base64);
  return text;
}

function audioRefused({ at = "messages" }: AudioPart): ServiceError {
  return new ServiceError(
    "invalid_value",
    `'${at}' is invalid: this model does not accept audio. Send text, or use a model that accepts audio.`,
    { param: at },
  );
}
