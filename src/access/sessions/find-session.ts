import { eq } from "drizzle-orm";
import { sessions } from "../../db/tables/users.ts";
import type { Access } from "../access.ts";
import { sessionOver } from "./session-over.ts";

export interface SessionTimes {
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

/** Rejects with `session_expired` when the session has ended meanwhile. */
export async function findSession({ database }: Access, id: string): Promise<SessionTimes> {
  const [found] = await database.ask((db) =>
    db
      .select({ createdAt: sessions.createdAt, expiresAt: sessions.expiresAt })
      .from(sessions)
      .where(eq(sessions.id, id)),
  );
  if (found !== undefined) return found;
  throw sessionOver();
}
