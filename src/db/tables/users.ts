import { sql } from "drizzle-orm";
import { bigint, boolean, check, index, pgTable, text, timestamp } from "drizzle-orm/pg-core";

const moment = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });

/** Who may own keys and log in. */
export const users = pgTable(
  "users",
  {
    /** `usr_` and 22 base62 characters. */
    id: text("id").primaryKey(),
    /** Lower case. */
    username: text("username").notNull().unique(),
    role: text("role", { enum: ["admin", "user"] }).notNull(),
    /** A disabled user has no session, and the keys do not work. */
    state: text("state", { enum: ["active", "disabled"] })
      .notNull()
      .default("active"),
    /** argon2id, in its usual text. Null: cannot log in. */
    passwordHash: text("password_hash"),
    /** The password was set by somebody else: until it is changed, a session may do nothing but that. */
    mustChangePassword: boolean("must_change_password").notNull().default(false),
    createdAt: moment("created_at").notNull().defaultNow(),
    lastLoginAt: moment("last_login_at"),
  },
  (table) => [
    check("users_username_is_lower_case", sql`${table.username} = lower(${table.username})`),
    check("users_role_is_known", sql`${table.role} in ('admin', 'user')`),
    check("users_state_is_known", sql`${table.state} in ('active', 'disabled')`),
  ],
);

/** Logged-in sessions. A row that is gone is a session that is over, on every replica. */
export const sessions = pgTable(
  "sessions",
  {
    /** `sid_` and 22 base62 characters; tells nothing of the token. */
    id: text("id").primaryKey(),
    /** HMAC-SHA256 of the token, base64url. */
    tokenHash: text("token_hash").notNull().unique(),
    userId: text("user_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    createdAt: moment("created_at").notNull().defaultNow(),
    expiresAt: moment("expires_at").notNull(),
    /** Where the login came from. */
    address: text("address"),
  },
  (table) => [
    index("sessions_user_id_index").on(table.userId),
    index("sessions_expires_at_index").on(table.expiresAt),
  ],
);

/** Failed logins in a row, by account and by address. A successful login clears the account's. */
export const loginFailures = pgTable("login_failures", {
  /**
   * `user:<name>`, `user:<name> from <address>` where that user has logged in from there before, or `address:<address>`; with
   * the /64 network of an IPv6 address.
   */
  subject: text("subject").primaryKey(),
  failures: bigint("failures", { mode: "number" }).notNull(),
  lastFailedAt: moment("last_failed_at").notNull(),
});
