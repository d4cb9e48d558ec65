import { isJsonObject, type JsonObject, type JsonValue } from "../../../lib/json/json.ts";
import { cleanLine } from "./clean-text.ts";

const MAX_LABEL_LENGTH = 300;

/** Returns a part of a result as a model reads it: its text, or what it is. */
export function describePart(part: JsonValue): string {
  if (!isJsonObject(part)) return "[unknown content: not shown]";
  const { type } = part;
  if (type === "text") return typeof part["text"] === "string" ? part["text"] : "";
  if (type === "image" || type === "audio") {
    return `[${type} ${sizeOf(part["mimeType"], part["data"])}: not shown]`;
  }
  if (type === "resource_link") return describeLink(part);
  if (type === "resource" && isJsonObject(part["resource"]))
    return describeResource(part["resource"]);
  return `[${label(type) || "unknown content"}: not shown]`;
}

function describeLink({ name, uri, description }: JsonObject): string {
  const about = label(description);
  return `[link ${label(name)}: ${label(uri)}${about === "" ? "" : `, ${about}`}]`;
}

function describeResource({ uri, text, mimeType, blob }: JsonObject): string {
  if (typeof text === "string") return `[resource ${label(uri)}]\n${text}`;
  return `[resource ${label(uri)} ${sizeOf(mimeType, blob)}: not shown]`;
}

/** For example `image/png, 12 kB`. */
function sizeOf(mediaType: JsonValue | undefined, base64: JsonValue | undefined): string {
  const bytes = typeof base64 === "string" ? Math.floor((base64.length * 3) / 4) : 0;
  const size = bytes < 1_000 ? `${bytes} bytes` : `${Math.round(bytes / 1_000)} kB`;
  return `${label(mediaType) || "of unknown type"}, ${size}`;
}

function label(value: JsonValue | undefined): string {
  return typeof value === "string" ? cleanLine(value, MAX_LABEL_LENGTH) : "";
}
