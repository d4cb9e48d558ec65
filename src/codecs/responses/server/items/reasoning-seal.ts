import { markSeal, openSeal } from "../../../../core/chat/seal.ts";
import { isJsonObject, type JsonValue } from "../../../../lib/json/json.ts";
import { decodeBase64Text, encodeBase64Text } from "../../../../lib/text/base64-text.ts";

/** Reasoning, and the data its vendor wants replayed with it. */
export interface Thought {
  readonly text: string;
  readonly signature?: string | undefined;
  readonly redacted?: string | undefined;
}

/**
 * Returns the `encrypted_content` of a reasoning item. It includes the text: a seal is valid only for exactly that
 * text, and clients may shorten the summary next to it.
 */
export function sealThought({ text, signature, redacted }: Thought): string {
  return markSeal("gateway", encodeBase64Text(JSON.stringify({ text, signature, redacted })));
}

/** Returns the reasoning in an `encrypted_content` of the gateway; undefined for another maker's or a damaged one. */
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
