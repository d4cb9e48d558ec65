import type { AnyCaller, Caller, SessionCaller } from "../core/callers/caller.ts";

/** The origin of a request. */
export interface Origin {
  /** Null when it is not known. */
  readonly address: string | null;
  readonly requestId: string;
}

/**
 * The caller of a change and its origin, by which the functions of this folder decide and which the audit log records.
 */
export interface AnyActor extends Origin {
  readonly caller: AnyCaller;
}

/** An actor with a key or a session. */
export interface Actor extends AnyActor {
  readonly caller: Caller;
}

/** An actor with a logged-in user. */
export interface SessionActor extends Actor {
  readonly caller: SessionCaller;
}
