import { eq, sql } from "drizzle-orm";
import { ServiceError } from "../../core/service-error.ts";
import { withTransaction } from "../../db/context.ts";
import { nextChange } from "../../db/next-change.ts";
import { users } from "../../db/tables/users.ts";
import type { Access } from "../access.ts";
import type { Actor } from "../actor.ts";
import { recordAudit } from "../audit/record-audit.ts";
import { confirmActor } from "../confirm-actor.ts";
import { lockUsers } from "./lock-users.ts";
import { readUser } from "./read-user.ts";
import { refuseLastAdministrator } from "./refuse-last-administrator.ts";

/**
 * Deletes a user with sessions, API keys and BI keys; usage stays. Rejects with `not_found`, and with `invalid_value`
 * for the last active administrator and for who asks for it.
 */
export async function deleteUser(access: Access, actor: Actor, id: string): Promise<void> {
  await access.database.ask((db) =>
    withTransaction(db, async (transaction) => {
      await lockUsers(transaction);
      await confirmActor(transaction, access, actor);
      const user = await readUser(transaction, id);
      if (id === actor.caller.ownerId) {
        throw new ServiceError(
          "invalid_value",
          "You cannot delete yourself; ask another administrator.",
        );
      }
      await refuseLastAdministrator(transaction, user);
      // The counter before the user's row: whoever makes a key takes them in this order too. The keys go first,
      // and leave a note, because of what goes with the user no replica would hear.
      const changeSeq = await nextChange(transaction, "api_keys");
      await transaction.execute(sql`
        with gone as (delete from api_keys where owner_id = ${id} returning id)
        insert into deleted_api_keys (id, change_seq) select id, ${changeSeq} from gone`);
      await transaction.delete(users).where(eq(users.id, id));
      await recordAudit(transaction, actor, {
        action: "user.delete",
        targetKind: "user",
        targetId: id,
        details: { username: user.username, keys: user.keyCount },
      });
    }),
  );
  await access.keys.catchUp();
}
