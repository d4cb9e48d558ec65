import { sql } from "drizzle-orm";
import type { AnyActor } from "../access/actor.ts";
import { confirmActor } from "../access/confirm-actor.ts";
import type { Secret } from "../access/secret.ts";
import type { Base } from "../db/base.ts";
import { type Db, withTransaction } from "../db/context.ts";
import { repeatConflict } from "../db/repeat-conflict.ts";
import { type ChatSeals, createChatSeals } from "./chat-seals.ts";

/** What the verbs of chats work with. */
export interface ChatStore extends Pick<Base, "database" | "clock"> {
  readonly seals: ChatSeals;
  /** Chats that are kept for each user, 0 to 50. */
  readonly limit: number;
}

export function openChats(
  { settings, database, clock }: Base,
  secret: Pick<Secret, "derive">,
): ChatStore {
  return { database, clock, seals: createChatSeals(secret), limit: settings.CHAT_HISTORY_LIMIT };
}

/**
 * Runs a change of the actor's own chats in one transaction, one after another for each user: otherwise two tabs could
 * keep one chat too many, or replace one that was saved a moment ago. The rights are checked again, because a body may
 * arrive minutes after its headers. The audit log has no entry: chats are their owner's alone.
 */
export function changeChats<Result>(
  { database, clock }: ChatStore,
  actor: AnyActor,
  work: (transaction: Db) => Promise<Result>,
): Promise<Result> {
  const run = async (transaction: Db): Promise<Result> => {
    await transaction.execute(
      sql`select 1 from users where id = ${actor.caller.ownerId} for no key update`,
    );
    await confirmActor(transaction, { clock }, actor);
    return work(transaction);
  };
  return repeatConflict(() => database.ask((db) => withTransaction(db, run)));
}
