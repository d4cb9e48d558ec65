import type { Caller, SessionCaller } from "../core/caller.ts";

/** Where a request came from. */
export interface Origin {
  /** Null when it is not known. */
  readonly address: string | null;
  readonly requestId: string;
}

/** Who changes something, and from where: what the verbs of this folder decide by, and what the audit log keeps. */
export interface Actor extends Origin {
  readonly caller: Caller;
}

/** A logged-in user who does something. */
export interface SessionActor extends Actor {
  readonly caller: SessionCaller;
}
