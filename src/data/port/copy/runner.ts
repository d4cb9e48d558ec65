import type { ServerError } from "../protocol/backend-messages.ts";
import type { SessionMemory } from "./session-memory.ts";

/** The session, for the statements that it runs. */
export interface Runner {
  readonly memory: SessionMemory;
  /** Runs messages. Rejects when the session is over. */
  readonly execute: (messages: Buffer) => Promise<Buffer>;
  /** No transaction is in progress, not even one that lasts until Sync: a failure ends nothing of the client. */
  readonly isIdle: boolean;
  /** Gives bytes to the client, and resolves once it takes more. */
  readonly emit: (bytes: Buffer) => Promise<void>;
  /** Why the statement must end now: cancelled or over its time. */
  readonly reasonToStop: () => ServerError | undefined;
  /** The statement has ended, so the next one has its own time. */
  readonly finished: () => void;
  /**
   * Does what `setAgain` does and sets the role again, whatever becomes of the transaction. Returns what the client is told
   * of changed parameters.
   */
  readonly becomeReader: () => Promise<Buffer>;
  /** Sets the time of the rows and what the client has set at its start again, as a part of the transaction. */
  readonly setAgain: () => Promise<void>;
}
