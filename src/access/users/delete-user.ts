import { eq, sql } from "drizzle-orm";
import { ServiceError } from "../../core/service-error.ts";
import { nextChange } from "../../db/next-change.ts";
import { assistants } from "../../db/tables/assistants.ts";
import { users } from "../../db/tables/users.ts";
import { workflows } from "../../db/tables/workflows.ts";
import type { Access } from "../access.ts";
import type { AnyActor } from "../actor.ts";
import { change } from "../change.ts";
import { readUser } from "./user.ts";
import { lockUsers, refuseAdministratorByToken, refuseLastAdministrator } from "./user-rules.ts";

/**
 * Deletes a user with sessions, chats, API keys, BI keys and service tokens; usage remains. The user's workflows pass, disabled,
 * to the actor. Rejects with `not_found`, and with `invalid_value`
 * for the last active administrator and for the actor's own account.
 *
 * @param catchUpAssistants makes the deletion hold for what this replica has in memory of assistants. Never rejects.
 */
export function deleteUser(
  access: Access,
  actor: AnyActor,
  id: string,
  catchUpAssistants: () => Promise<void> = async () => undefined,
): Promise<void> {
  const frame = {
    action: "user.delete",
    targetKind: "user",
    targetId: id,
    lock: lockUsers,
    counter: {
      name: "api_keys",
      catchUp: async () => void (await Promise.all([access.keys.catchUp(), catchUpAssistants()])),
    },
  } as const;
  return change(access, actor, frame, async (transaction, changeSeq) => {
    const user = await readUser(transaction, id);
    refuseAdministratorByToken(actor, user.role);
    if (id === actor.caller.ownerId) {
      throw new ServiceError(
        "invalid_value",
        "You cannot delete yourself; ask another administrator.",
      );
    }
    await refuseLastAdministrator(transaction, user);
    // The user's service tokens and BI keys are deleted with the row. Counters come before a user's row, as in `change`.
    await nextChange(transaction, "service_tokens");
    await nextChange(transaction, "bi_keys");
    const assistantsSeq = await nextChange(transaction, "assistants");
    // Whoever saves something of the user holds a share of this row until it is committed: it is found below, or refused.
    await transaction.select({ id: users.id }).from(users).where(eq(users.id, id)).for("update");
    // The keys are deleted first and recorded, because replicas would not notice a deletion that cascades from the
    // user's row.
    await transaction.execute(sql`
      with gone as (delete from api_keys where owner_id = ${id} returning id)
      insert into deleted_api_keys (id, change_seq) select id, ${changeSeq} from gone`);
    // Before the foreign key does it, which would not mark the rows as changed: replicas would search for the old owner.
    await transaction
      .update(assistants)
      .set({ ownerId: null, changeSeq: assistantsSeq })
      .where(eq(assistants.ownerId, id));
    await transaction
      .update(workflows)
      .set({
        ownerId: actor.caller.ownerId,
        enabled: false,
        updatedAt: new Date(access.clock.now()),
      })
      .where(eq(workflows.ownerId, id));
    await nextChange(transaction, "workflows");
    await transaction.delete(users).where(eq(users.id, id));
    return { result: undefined, details: { username: user.username, keys: user.keyCount } };
  });
}
