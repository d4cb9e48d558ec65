import { isJsonObject, type JsonObject, type JsonValue } from "../../../lib/json/json.ts";
import { cutResult } from "../../run-tool.ts";
import { cleanLine, cleanText } from "./clean-text.ts";
import { describePart } from "./describe-part.ts";

const MAX_URI_LENGTH = 2_048;
const MAX_LABEL_LENGTH = 300;
const MEDIA_TYPE = /^[a-z0-9][\w.+-]{0,63}\/[\w.+-]{1,100}(?:;[ \w.=+"-]{1,100})?$/i;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/**
 * Returns the content of a result for clients of the protocol: texts are cleaned, and cut at `maxBytes` in all; media
 * stay as they are. What is no part that the protocol knows becomes a text that names it.
 */
export function readParts(parts: readonly JsonValue[], maxBytes: number): readonly JsonObject[] {
  let left = maxBytes;
  const shorten = (text: string): string => {
    const cut = cleanStart(text, maxBytes, left);
    left = Math.max(0, left - Buffer.byteLength(cut));
    return cut;
  };
  return parts.map((part) => readPart(part, shorten) ?? toText(shorten(describePart(part))));
}

/** Cleans no more of a text than can be of use, and cuts far longer ones at `maxBytes`, any at `left`. */
export function cleanStart(text: string, maxBytes: number, left?: number): string {
  const start = text.slice(0, maxBytes * 4);
  const cleaned = cleanText(start);
  const isWhole = start.length === text.length;
  if (isWhole && left === undefined) return cleaned;
  return cutResult(cleaned, left ?? maxBytes, Buffer.byteLength(isWhole ? cleaned : text));
}

type Shorten = (text: string) => string;

function readPart(part: JsonValue, shorten: Shorten): JsonObject | undefined {
  if (!isJsonObject(part)) return undefined;
  switch (part["type"]) {
    case "text":
      return typeof part["text"] === "string" ? toText(shorten(part["text"])) : undefined;
    case "image":
    case "audio":
      return readMedia(part, part["type"]);
    case "resource_link":
      return readLink(part);
    case "resource":
      return isJsonObject(part["resource"]) ? readResource(part["resource"], shorten) : undefined;
    default:
      return undefined;
  }
}

function readMedia({ data, mimeType }: JsonObject, type: "image" | "audio") {
  const isWhole = typeof data === "string" && BASE64.test(data);
  return isWhole && isMediaType(mimeType) ? { type, data, mimeType } : undefined;
}

function readLink({ uri, name, title, description, mimeType, size }: JsonObject) {
  if (typeof uri !== "string" || typeof name !== "string") return undefined;
  const label = (value: JsonValue | undefined, field: string) =>
    typeof value === "string" && { [field]: cleanLine(value, MAX_LABEL_LENGTH) };
  return {
    ...{ type: "resource_link", uri: cleanLine(uri, MAX_URI_LENGTH) },
    name: cleanLine(name, MAX_LABEL_LENGTH),
    ...label(title, "title"),
    ...label(description, "description"),
    ...(isMediaType(mimeType) && { mimeType }),
    ...(Number.isSafeInteger(size) && { size }),
  };
}

function readResource({ uri, mimeType, text, blob }: JsonObject, shorten: Shorten) {
  if (typeof uri !== "string") return undefined;
  const about = {
    uri: cleanLine(uri, MAX_URI_LENGTH),
    ...(isMediaType(mimeType) && { mimeType }),
  };
  if (typeof text === "string")
    return { type: "resource", resource: { ...about, text: shorten(text) } };
  if (typeof blob !== "string" || !BASE64.test(blob)) return undefined;
  return { type: "resource", resource: { ...about, blob } };
}

function isMediaType(value: JsonValue | undefined): value is string {
  return typeof value === "string" && MEDIA_TYPE.test(value);
}

function toText(text: string): JsonObject {
  return { type: "text", text };
}
