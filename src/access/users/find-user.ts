import type { Access } from "../access.ts";
import { readUser } from "./read-user.ts";
import type { User } from "./user.ts";

/** Rejects with `not_found`. */
export function findUser({ database }: Access, id: string): Promise<User> {
  return database.ask((db) => readUser(db, id));
}
