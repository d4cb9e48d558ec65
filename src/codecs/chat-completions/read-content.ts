import { isJsonObject } from "../../lib/json/json.ts";

interface ContentPiece {
  readonly kind: "text" | "reasoning";
  readonly text: string;
}

/** Reads the content of a message or a delta: a string, or parts of text and thinking. Empty pieces are dropped. */
export function readContent(content: unknown): readonly ContentPiece[] {
  if (typeof content === "string") return content === "" ? [] : [{ kind: "text", text: content }];
  if (!Array.isArray(content)) return [];
  return content.flatMap(readPart).filter(({ text }) => text !== "");
}

function readPart(part: unknown): readonly ContentPiece[] {
  if (!isJsonObject(part)) return [];
  const { type, text, thinking } = part;
  if (type === "thinking") return [{ kind: "reasoning", text: thinkingText(thinking) }];
  return typeof text === "string" ? [{ kind: "text", text }] : [];
}

/** Reads thinking, which is a string or a list of text parts. */
export function thinkingText(thinking: unknown): string {
  const pieces = readContent(thinking);
  return pieces.map(({ text }) => text).join("");
}
