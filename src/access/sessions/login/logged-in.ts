import type { Role } from "../../../core/callers/caller.ts";

/** A session as the client receives it. */
export interface LoggedIn {
  /** Shown only here. */
  readonly token: string;
  readonly expiresAt: Date;
  readonly mustChangePassword: boolean;
  readonly user: { readonly id: string; readonly username: string; readonly role: Role };
}
