import type { Caller, SessionCaller } from "../core/caller.ts";

/** The origin of a request. */
export interface Origin {
  /** Null when it is not known. */
  readonly address: string | null;
  readonly requestId: string;
}

/**
 * The caller of a change and its origin, by which the functions of this folder decide and which the audit log records.
 */
export interface Actor extends Origin {
  readonly caller: Caller;
}

/** An actor with a logged-in user. */
export interface SessionActor extends Actor {
  readonly caller: SessionCaller;
}
