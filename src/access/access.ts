import type { Database } from "../db/database.ts";
import type { Clock } from "../lib/time/clock.ts";
import type { HashCredential } from "./hash-credential.ts";
import type { InLoginTurn } from "./sessions/login/login-turns.ts";
import type { Passwords } from "./sessions/passwords/passwords.ts";

export interface CredentialHashes {
  readonly hashApiKey: HashCredential;
  readonly hashBiKey: HashCredential;
  readonly hashServiceToken: HashCredential;
  readonly hashSession: HashCredential;
}

/** The dependencies of the functions in this folder. */
export interface Access extends CredentialHashes {
  readonly database: Pick<Database, "ask">;
  readonly clock: Clock;
  /** Reads the committed changes, so that a change made by this process holds for the next call. Never rejects. */
  readonly keys: { readonly catchUp: () => Promise<void> };
  /** The number of active users that the license allows. */
  readonly maxUsers: () => number;
}

/** The further dependencies of the functions for users and logins. */
export interface UserAccess extends Access {
  readonly passwords: Passwords;
  readonly inLoginTurn: InLoginTurn;
  /** OIDC_ONLY: logins by password are switched off. */
  readonly oidcOnly: boolean;
  /** SESSION_LIFETIME_HOURS. */
  readonly sessionHours: number;
}
