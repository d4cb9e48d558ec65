import { isJsonObject, type JsonObject, type JsonValue } from "../../../lib/json.ts";
import { cutResult } from "../../run-tool.ts";
import type { ToolResult } from "../../tool.ts";
import { ToolServerFailure } from "../tool-server-failure.ts";
import { cleanLine, cleanText } from "./clean-text.ts";

const MAX_LABEL_LENGTH = 300;

const NO_INPUT =
  "The tool asks a user for further input, which the gateway does not pass on. Give all it needs in its arguments.";

/**
 * Returns the text of a tool's result. What is no text is named. Far more than `maxBytes` is cut, because cleaning takes
 * long; the rest is left to whoever runs the tool. Throws a `ToolServerFailure` for no result at all.
 */
export function readResult(result: JsonObject, maxBytes: number): ToolResult {
  const { content, structuredContent, isError, resultType } = result;
  if (resultType === "input_required") return { text: NO_INPUT, isError: true };
  const isComplete = resultType === undefined || resultType === "complete";
  const hasContent = Array.isArray(content) || structuredContent !== undefined;
  if (!isComplete || !hasContent) {
    throw new ToolServerFailure("protocol", "The tool server's result has no content.");
  }
  const parts: readonly JsonValue[] = Array.isArray(content) ? content : [];
  const texts = parts.map(describePart);
  const hasText = parts.some((part) => isJsonObject(part) && part["type"] === "text");
  // A result with structured content should repeat it as a text; many leave that out.
  if (!hasText && structuredContent !== undefined) texts.push(JSON.stringify(structuredContent));
  return { text: cleanStart(texts.join("\n"), maxBytes), ...(isError === true && { isError }) };
}

function cleanStart(text: string, maxBytes: number): string {
  const start = text.slice(0, maxBytes * 4);
  const cleaned = cleanText(start);
  return start.length === text.length
    ? cleaned
    : cutResult(cleaned, maxBytes, Buffer.byteLength(text));
}

function describePart(part: JsonValue): string {
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
