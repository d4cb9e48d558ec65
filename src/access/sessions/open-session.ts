import type { Db } from "../../db/context.ts";
import { sessions, type users } from "../../db/tables/users.ts";
import { randomBase62 } from "../../lib/id.ts";
import type { UserAccess } from "../access.ts";
import type { Origin } from "../actor.ts";
import { recordAudit } from "../audit/record-audit.ts";
import { endOldestSessions } from "./end-oldest-sessions.ts";
import type { LoggedIn } from "./login/logged-in.ts";
import { newSessionToken } from "./session-token.ts";

interface Opening {
  /** The user's row, which this transaction has just written as logged in and so holds. */
  readonly user: typeof users.$inferSelect;
  readonly openedBy: (typeof sessions.$inferSelect)["openedBy"];
  readonly origin: Origin;
  readonly createdAt: Date;
}

/** Opens a session of a user who may log in, and records it; when the user has too many, the oldest one ends. */
export async function openSession(
  transaction: Db,
  { hashSession, sessionHours }: Pick<UserAccess, "hashSession" | "sessionHours">,
  { user, openedBy, origin, createdAt }: Opening,
): Promise<LoggedIn> {
  const { id, username, role } = user;
  const mustChangePassword = user.mustChangePassword && openedBy === "password";
  await endOldestSessions(transaction, id);
  const token = newSessionToken();
  const sessionId = `sid_${randomBase62(22)}`;
  const expiresAt = new Date(createdAt.getTime() + sessionHours * 3_600_000);
  await transaction.insert(sessions).values({
    id: sessionId,
    tokenHash: hashSession(token),
    userId: id,
    createdAt,
    expiresAt,
    address: origin.address,
    openedBy,
  });
  const caller = {
    kind: "session",
    sessionId,
    ownerId: id,
    username,
    role,
    mustChangePassword,
    passthrough: false,
  } as const;
  await recordAudit(
    transaction,
    { ...origin, caller },
    {
      action: "user.login",
      targetKind: "user",
      targetId: id,
      details: openedBy === "password" ? {} : { method: openedBy },
    },
  );
  return { token, expiresAt, mustChangePassword, user: { id, username, role } };
}
