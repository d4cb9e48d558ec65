import { mayHaveLargeNumbers, writeLargeNumbers } from "../../../lib/json/exact-json.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../lib/json/json.ts";
import { rawMember } from "../../../lib/json/raw-json.ts";
import type { ToolContent, ToolResult } from "../../tool.ts";
import { ToolServerFailure } from "../client/tool-server-failure.ts";
import { describePart } from "./describe-part.ts";
import { cleanStart, readParts } from "./read-parts.ts";

/** No model or person reads more, and each costs time before any is cut. */
const MAX_PARTS = 1_000;
const NO_INPUT =
  "The tool asks a user for further input, which the gateway does not pass on. Give all it needs in its arguments.";

/**
 * Returns the text of a tool's result, in which what is no text is named, and its content for clients that take more.
 * Far more than `maxBytes` of text is cut, because cleaning takes long; the rest is left to whoever runs the tool.
 * `message` is the text of the whole answer, for the numbers that parsing changed. Throws a `ToolServerFailure` for no
 * result at all.
 */
export function readResult(result: JsonObject, maxBytes: number, message: string): ToolResult {
  const { content, structuredContent, isError, resultType } = result;
  if (resultType === "input_required") return { text: NO_INPUT, isError: true };
  const isComplete = resultType === undefined || resultType === "complete";
  const hasContent = Array.isArray(content) || structuredContent !== undefined;
  if (!isComplete || !hasContent) {
    throw new ToolServerFailure("protocol", "The tool server's result has no content.");
  }
  const parts = cutParts(Array.isArray(content) ? content : []);
  const isOneText = parts.length === 1 && isText(parts[0]) && structuredContent === undefined;
  const texts = parts.map(describePart);
  const hasText = parts.some(isText);
  const structured =
    structuredContent === undefined
      ? undefined
      : readStructured(structuredContent, message, maxBytes);
  // A result with structured content should repeat it as a text; many leave that out.
  if (!hasText && structured !== undefined) texts.push(structured.text);
  return {
    text: cleanStart(texts.join("\n"), maxBytes),
    ...(isError === true && { isError }),
    ...(!isOneText && { content: contentOf(parts, structured, maxBytes) }),
  };
}

function cutParts(parts: readonly JsonValue[]): readonly JsonValue[] {
  if (parts.length <= MAX_PARTS) return parts;
  const note = `[The result was cut: it has ${parts.length} parts.]`;
  return [...parts.slice(0, MAX_PARTS), { type: "text", text: note }];
}

function isText(part: JsonValue | undefined): boolean {
  return isJsonObject(part) && part["type"] === "text";
}

interface Structured {
  readonly value: JsonValue;
  /** As JSON, with all digits of its numbers. */
  readonly text: string;
  /** Whether `value` has other numbers. */
  readonly isChanged: boolean;
}

function readStructured(value: JsonValue, message: string, maxBytes: number): Structured {
  if (!mayHaveLargeNumbers(message)) {
    return { value, text: JSON.stringify(value), isChanged: false };
  }
  const sent = rawMember(rawMember(message, "result") ?? "{}", "structuredContent") ?? "null";
  // Far more than is of use stays as it came, because writing it anew takes long.
  const isFarTooLong = sent.length > maxBytes * 4 && mayHaveLargeNumbers(sent);
  const exact = isFarTooLong ? sent : writeLargeNumbers(sent);
  return { value, text: exact ?? JSON.stringify(value), isChanged: exact !== undefined };
}

function contentOf(
  parts: readonly JsonValue[],
  structured: Structured | undefined,
  maxBytes: number,
): ToolContent {
  const read = readParts(parts, maxBytes);
  if (structured === undefined) return { parts: read };
  const { value, text, isChanged } = structured;
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes) {
    const note = `[structured content of ${bytes} bytes: left out, because it exceeds TOOL_RESULT_MAX_BYTES, ${maxBytes}. The tool has run. Ask it for less, or have the setting raised.]`;
    return { parts: [...read, { type: "text", text: note }], isStructuredLeftOut: true };
  }
  // Clients that read texts alone get it as one.
  return {
    parts: read.length > 0 ? read : [{ type: "text", text }],
    structured: value,
    ...(isChanged && { structuredText: text }),
  };
}
