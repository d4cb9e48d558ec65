import { eq } from "drizzle-orm";
import { users } from "../../db/tables/users.ts";
import type { UserAccess } from "../access.ts";

export interface CheckedPassword {
  /** Whoever has the name, active or not. */
  readonly user: typeof users.$inferSelect | undefined;
  readonly isRight: boolean;
}

/** Compares a password with that of a name, at the same cost when nobody has it. */
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
