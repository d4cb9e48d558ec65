import { markSeal, openSeal } from "../../../core/chat/seal.ts";

/** What OpenAI needs to resume from its own reasoning. */
export interface SealedThought {
  readonly id: string;
  readonly encryptedContent: string;
}

/** Neither part contains a colon: the first is an id, the second base64. */
const SEAL = /^([^:]+):(.+)$/s;

/** Returns the seal of a reasoning item in the form that clients carry. */
export function sealReasoning({ id, encryptedContent }: SealedThought): string {
  return markSeal("openai", `${id}:${encryptedContent}`);
}

/** Returns the content of an OpenAI seal; undefined for another vendor's or a damaged one. */
export function openReasoning(marked: string | undefined): SealedThought | undefined {
  const [, id, encryptedContent] = SEAL.exec(openSeal("openai", marked) ?? "") ?? [];
  return id === undefined || encryptedContent === undefined ? undefined : { id, encryptedContent };
}
