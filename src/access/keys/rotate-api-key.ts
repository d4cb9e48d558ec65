import { eq } from "drizzle-orm";
import { apiKeys } from "../../db/tables/api-keys.ts";
import type { Access } from "../access.ts";
import type { Actor } from "../actor.ts";
import { API_KEY_COLUMNS, type IssuedApiKey, unknownApiKey } from "./api-key-record.ts";
import { changeApiKey } from "./change-api-key.ts";
import { newApiKeyText } from "./create-api-key.ts";
import { recordApiKeyChange } from "./record-api-key-change.ts";
import { refuseMoreRights } from "./refuse-more-rights.ts";

/**
 * Gives a key a new secret. The old one works for `overlapSeconds` more, under all that restricts the key; one that
 * was replaced before it ends at once. Rejects as `changeApiKey` does, and for a key that has less than this one.
 */
export function rotateApiKey(
  access: Access,
  actor: Actor,
  { id, overlapSeconds }: { readonly id: string; readonly overlapSeconds: number },
): Promise<IssuedApiKey> {
  const text = newApiKeyText();
  return changeApiKey(access, actor, id, async (transaction, { before, changeSeq }) => {
    // Whoever rotates a key has its secret then.
    await refuseMoreRights(transaction, actor.caller, before);
    const [key] = await transaction
      .update(apiKeys)
      .set({
        // Kept also when its time is over: BOOTSTRAP_API_KEY is not to bring it back.
        previousKeyHash: apiKeys.keyHash,
        previousExpiresAt: new Date(access.clock.now() + overlapSeconds * 1_000),
        keyHash: access.hashApiKey(text),
        lastFour: text.slice(-4),
        changeSeq,
      })
      .where(eq(apiKeys.id, id))
      .returning(API_KEY_COLUMNS);
    if (key === undefined) throw unknownApiKey();
    await recordApiKeyChange(transaction, actor, {
      verb: "rotate",
      id,
      fields: { name: before.name },
      details: { overlap_seconds: overlapSeconds, last_four: key.lastFour },
    });
    return { key, text };
  });
}
