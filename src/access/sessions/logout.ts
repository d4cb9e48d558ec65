import { eq } from "drizzle-orm";
import { withTransaction } from "../../db/context.ts";
import { sessions } from "../../db/tables/users.ts";
import type { Access } from "../access.ts";
import type { SessionActor } from "../actor.ts";
import { recordAudit } from "../audit/record-audit.ts";

/** Ends the actor's session; the user's other sessions continue. */
export async function logout({ database }: Access, actor: SessionActor): Promise<void> {
  const { sessionId, ownerId } = actor.caller;
  await database.ask((db) =>
    withTransaction(db, async (transaction) => {
      const ended = await transaction
        .delete(sessions)
        .where(eq(sessions.id, sessionId))
        .returning({ id: sessions.id });
      if (ended.length === 0) return;
      await recordAudit(transaction, actor, {
        action: "user.logout",
        targetKind: "user",
        targetId: ownerId,
      });
    }),
  );
}
