/** Time and timers of a session. Tests set them. */
export interface SessionClock {
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Calls `run` after so many milliseconds, unless the returned function was called. */
  readonly after: (milliseconds: number, run: () => void) => () => void;
}

/** Of one message of a client. */
export const MAX_MESSAGE_BYTES = 1_048_576;
/** Of the rows that one statement or portal brings. */
export const MAX_ANSWER_BYTES = 1_073_741_824;
/** An error of the database can repeat a value of any size; what is longer is passed on without its end. */
export const MAX_ERROR_BYTES = 65_536;
/** Messages sent to the database whose answers are still to come. */
export const MAX_EXPECTED = 4096;
/** Bytes for the database that are joined to one write. */
export const MAX_JOINED_BYTES = 65_536;
/** Texts of prepared statements and portals that are kept for the statement log. */
export const MAX_KEPT_NAMES = 1000;
export const MAX_KEPT_CHARACTERS = 262_144;
/** Of a text in the statement log. */
export const MAX_LOGGED_CHARACTERS = 8192;

/** The database's own timeout comes first: it knows when the statement began. */
export const TIMEOUT_GRACE_MS = 1000;
/** A statement that was cancelled and continues costs the connection. */
export const CANCEL_GRACE_MS = 5000;
/** For the rest of a message, and for the client to take its last error. */
export const CLOSE_GRACE_MS = 1000;
export const IDLE_MS = 3_600_000;
export const IDLE_IN_TRANSACTION_MS = 60_000;
