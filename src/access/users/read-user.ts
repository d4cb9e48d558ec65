import { eq } from "drizzle-orm";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { users } from "../../db/tables/users.ts";
import { selectUsers, type User } from "./user.ts";

/** Rejects with `not_found`. */
export async function readUser(db: Db, id: string): Promise<User> {
  const [user] = await selectUsers(db).where(eq(users.id, id));
  if (user !== undefined) return user;
  throw new ServiceError("not_found", "There is no user with this id; see GET /api/admin/users.");
}
