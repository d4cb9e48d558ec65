import type { Secret } from "../access/secret.ts";
import { createSecretBox } from "../lib/secret-box.ts";

/** The chat that a content belongs to: sealed for one, it opens for no other chat and no other owner. */
export interface SealedFor {
  readonly id: string;
  readonly ownerId: string;
}

/** Seals what was said in chats. What does not open was sealed under another APP_SECRET, or is damaged. */
export interface ChatSeals {
  readonly sealTitle: (chat: SealedFor, title: string) => string;
  readonly openTitle: (chat: SealedFor, sealed: string) => string | undefined;
  readonly sealDocument: (chat: SealedFor, document: Uint8Array) => Buffer;
  readonly openDocument: (chat: SealedFor, sealed: Uint8Array) => Buffer | undefined;
}

export function createChatSeals(secret: Pick<Secret, "derive">): ChatSeals {
  const box = createSecretBox(secret.derive("chats"));
  const place = ({ ownerId, id }: SealedFor, field: "title" | "document") =>
    `${ownerId}/${id}/${field}`;
  return {
    sealTitle: (chat, title) => box.seal(title, place(chat, "title")),
    openTitle: (chat, sealed) => box.open(sealed, place(chat, "title")),
    sealDocument: (chat, document) => box.sealBytes(document, place(chat, "document")),
    openDocument: (chat, sealed) => box.openBytes(sealed, place(chat, "document")),
  };
}
