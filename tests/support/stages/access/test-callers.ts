import type { Actor } from "../../../../src/access/actor.ts";
import type { Caller, SessionCaller } from "../../../../src/core/callers/caller.ts";
import type { Db } from "../../../../src/db/context.ts";
import { sessions, users } from "../../../../src/db/tables/users.ts";

const session: SessionCaller = {
  kind: "session",
  sessionId: "sid_1",
  ownerId: "usr_1",
  username: "one",
  role: "admin",
  mustChangePassword: false,
  passthrough: false,
};

export const administrator: Caller = session;
/** A user who is no administrator. */
export const plainUser: Caller = {
  ...session,
  sessionId: "sid_2",
  ownerId: "usr_2",
  username: "two",
  role: "user",
};

export function actorOf(caller: Caller): Actor {
  return { caller, address: null, requestId: "req_1" };
}

/** Stores both users and their sessions, so that they may change something. */
export async function admitCallers(db: Db): Promise<void> {
  await db
    .insert(users)
    .values([
      { id: "usr_1", username: "one", role: "admin" },
      { id: "usr_2", username: "two", role: "user" },
    ])
    .onConflictDoNothing();
  const expiresAt = new Date("9999-01-01");
  await db
    .insert(sessions)
    .values([
      { id: "sid_1", tokenHash: "1", userId: "usr_1", expiresAt },
      { id: "sid_2", tokenHash: "2", userId: "usr_2", expiresAt },
    ])
    .onConflictDoNothing();
}
