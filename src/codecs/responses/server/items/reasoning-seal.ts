import { markSeal, openSeal } from "../../../../core/seal.ts";
import { decodeBase64Text, encodeBase64Text } from "../../../../lib/base64-text.ts";
import { isJsonObject, type JsonValue } from "../../../../lib/json.ts";

/** A thought and what its vendor wants replayed with it. */
export interface Thought {
  readonly text: string;
  readonly signature?: string | undefined;
  readonly redacted?: string | undefined;
}

/**
 * The `encrypted_content` of a reasoning item. It holds the text as well: a seal is worth nothing without the very text
 * it was made for, and clients may shorten the summary beside it.
 */
export function sealThought({ text, signature, redacted }: Thought): string {
  return markSeal("gateway", encodeBase64Text(JSON.stringify({ text, signature, redacted })));
}

/** The thought in an `encrypted_content` of ours; undefined for another's, or one that came to harm. */
export function openThought(encrypted: string | null | undefined): Thought | undefined {
  const sealed = openSeal("gateway", encrypted ?? undefined);
  const json = sealed === undefined ? undefined : decodeBase64Text(sealed);
  if (json === undefined) return undefined;
  try {
    const thought: unknown = JSON.parse(json);
    if (!isJsonObject(thought)) return undefined;
    const { text, signature, redacted } = thought;
    const isWhole = typeof text === "string" && isText(signature) && isText(redacted);
    return isWhole ? { text, ...present({ signature, redacted }) } : undefined;
  } catch {
    return undefined;
  }
}

function isText(value: JsonValue | undefined): value is string | undefined {
  return value === undefined || typeof value === "string";
}

function present({ signature, redacted }: Omit<Thought, "text">): Omit<Thought, "text"> {
  return {
    ...(signature !== undefined && { signature }),
    ...(redacted !== undefined && { redacted }),
  };
}
