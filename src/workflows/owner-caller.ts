import { eq } from "drizzle-orm";
import type { SessionCaller } from "../core/caller.ts";
import type { Db } from "../db/context.ts";
import { users } from "../db/tables/users.ts";
import { StepFailure } from "./runs/run.ts";

/** Returns the owner of a run as a caller: what was saved runs with the owner's rights. Rejects with a `StepFailure`. */
export async function readOwnerCaller(db: Db, ownerId: string | null): Promise<SessionCaller> {
  const { id, username, role } = users;
  const [owner] =
    ownerId === null ? [] : await db.select({ username, role }).from(users).where(eq(id, ownerId));
  if (owner === undefined || ownerId === null) {
    throw new StepFailure("owner_missing", "The workflow has no owner. Let a user take it over.");
  }
  return {
    ...{ kind: "session", sessionId: "", ownerId, ...owner },
    ...{ mustChangePassword: false, passthrough: false },
  };
}
