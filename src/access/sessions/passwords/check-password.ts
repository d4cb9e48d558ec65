import { eq } from "drizzle-orm";
import { users } from "../../../db/tables/users.ts";
import type { UserAccess } from "../../access.ts";

export interface CheckedPassword {
  /** The user with this name, active or not. */
  readonly user: typeof users.$inferSelect | undefined;
  readonly isRight: boolean;
}

/** Compares a password with that of a name, at the same cost when no user has the name. */
export async function checkPassword(
  { database, passwords }: UserAccess,
  name: string | undefined,
  password: string,
): Promise<CheckedPassword> {
  const [user] = await database.ask((db) =>
    db
      .select()
      .from(users)
      .where(eq(users.username, name ?? "")),
  );
  return { user, isRight: await passwords.isRight(password, user?.passwordHash ?? null) };
}
