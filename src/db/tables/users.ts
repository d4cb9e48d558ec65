import { sql } from "drizzle-orm";
import { check, pgTable, text, timestamp } from "drizzle-orm/pg-core";

/** Who may own keys and log in. */
export const users = pgTable(
  "users",
  {
    /** `usr_` and 22 base62 characters. */
    id: text("id").primaryKey(),
    /** Lower case. */
    username: text("username").notNull().unique(),
    role: text("role", { enum: ["admin", "user"] }).notNull(),
    /** Null: cannot log in. */
    passwordHash: text("password_hash"),
    createdAt: timestamp("created_at", { withTimezone: true, precision: 3 }).notNull().defaultNow(),
  },
  (table) => [
    check("users_username_is_lower_case", sql`${table.username} = lower(${table.username})`),
    check("users_role_is_known", sql`${table.role} in ('admin', 'user')`),
  ],
);
