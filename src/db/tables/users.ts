import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  check,
  date,
  index,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uniqueIndex,
} from "drizzle-orm/pg-core";

const moment = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });
const limit = (name: string) => bigint(name, { mode: "number" });

/** Users, who can own keys and log in. */
export const users = pgTable(
  "users",
  {
    /** `usr_` and 22 base62 characters. */
    id: text("id").primaryKey(),
    /** Lower case. */
    username: text("username").notNull().unique(),
    role: text("role", { enum: ["admin", "user"] }).notNull(),
    /** A disabled user has no sessions, and the user's keys are rejected. */
    state: text("state", { enum: ["active", "disabled"] })
      .notNull()
      .default("active"),
    /** An argon2id hash in its standard text form. Null: the user cannot log in. */
    passwordHash: text("password_hash"),
    /** True when another user set the password. Until it is changed, a session may only change it. */
    mustChangePassword: boolean("must_change_password").notNull().default(false),
    /** When the command line last set the password, which is then valid for a while under OIDC_ONLY. */
    passwordResetAt: moment("password_reset_at"),
    createdAt: moment("created_at").notNull().defaultNow(),
    lastLoginAt: moment("last_login_at"),
    /** Limits of the sum of the user's keys and sessions: null is unlimited, 0 refuses. */
    monthlyTokenLimit: limit("monthly_token_limit"),
    rpmLimit: limit("rpm_limit"),
  },
  (table) => [
    check("users_username_is_lower_case", sql`${table.username} = lower(${table.username})`),
    check("users_role_is_known", sql`${table.role} in ('admin', 'user')`),
    check("users_state_is_known", sql`${table.state} in ('active', 'disabled')`),
  ],
);

/** Logged-in sessions. Deleting a row ends the session on every replica. */
export const sessions = pgTable(
  "sessions",
  {
    /** `sid_` and 22 base62 characters; reveals nothing about the token. */
    id: text("id").primaryKey(),
    /** HMAC-SHA256 of the token, base64url. */
    tokenHash: text("token_hash").notNull().unique(),
    userId: text("user_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    createdAt: moment("created_at").notNull().defaultNow(),
    expiresAt: moment("expires_at").notNull(),
    /** The client address of the login. */
    address: text("address"),
    /** A pending change of the password restricts only sessions that a password opened. */
    openedBy: text("opened_by", { enum: ["password", "oidc"] })
      .notNull()
      .default("password"),
  },
  (table) => [
    index("sessions_user_id_index").on(table.userId),
    index("sessions_expires_at_index").on(table.expiresAt),
    check("sessions_opened_by_is_known", sql`${table.openedBy} in ('password', 'oidc')`),
  ],
);

/**
 * The tokens of a user's sessions by month, for the user's monthly limit only: sessions write no usage rows, and no
 * report reads this.
 */
export const sessionMonths = pgTable(
  "session_months",
  {
    userId: text("user_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    /** The first day of the month, UTC. */
    month: date("month", { mode: "string" }).notNull(),
    /** Input and output. */
    tokens: bigint("tokens", { mode: "number" }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.userId, table.month] })],
);

/** The accounts of OpenID providers that users sign in with. The name and the mail of an account identify nobody. */
export const identities = pgTable(
  "identities",
  {
    issuer: text("issuer").notNull(),
    /** The provider's id of the account, which is never given to another one. */
    subject: text("subject").notNull(),
    userId: text("user_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    createdAt: moment("created_at").notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.issuer, table.subject] }),
    uniqueIndex("identities_user_id_issuer_index").on(table.userId, table.issuer),
  ],
);

/** Consecutive failed logins, by account and by address. A successful login clears the account's count. */
export const loginFailures = pgTable("login_failures", {
  /**
   * `user:<name>`, or `user:<name> from <address>` where that user has logged in from there before, or
   * `address:<address>`. An IPv6 address is replaced by its /64 network.
   */
  subject: text("subject").primaryKey(),
  failures: bigint("failures", { mode: "number" }).notNull(),
  lastFailedAt: moment("last_failed_at").notNull(),
});
