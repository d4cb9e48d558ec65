import { markSeal, openSeal } from "../../../core/seal.ts";

/** What OpenAI needs of a thought to take it up again. */
export interface SealedThought {
  readonly id: string;
  readonly encryptedContent: string;
}

/** Neither part of it has a colon: the one is an id, the other base64. */
const SEAL = /^([^:]+):(.+)$/s;

/** The seal of a reasoning item as clients carry it. */
export function sealReasoning({ id, encryptedContent }: SealedThought): string {
  return markSeal("openai", `${id}:${encryptedContent}`);
}

/** What is in a seal of OpenAI; undefined for another vendor's, or one that came to harm. */
export function openReasoning(marked: string | undefined): SealedThought | undefined {
  const [, id, encryptedContent] = SEAL.exec(openSeal("openai", marked) ?? "") ?? [];
  return id === undefined || encryptedContent === undefined ? undefined : { id, encryptedContent };
}
