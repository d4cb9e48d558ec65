/** Times in milliseconds; sizes in bytes. */
export const RUN_LIMITS = {
  /** One row. */
  rowBytes: 64 * 1024 * 1024,
  /** The whole answer. */
  answerBytes: 1024 * 1024 * 1024,
  /** After its time the statement is cancelled here, should the database not have done so. */
  graceMs: 500,
  /** After a cancel the session is closed. */
  cancelMs: 2_000,
  /** A server ends sessions that idle in a transaction for 60 s. */
  stallMs: 50_000,
  /** The embedded copy ends a turn that idles for 10 s, with its process. */
  copyStallMs: 8_000,
} as const;
export type RunLimits = { readonly [Name in keyof typeof RUN_LIMITS]: number };

/** No further go is asked for while as much as this waits for the client. */
export const HIGH_BYTES = 1024 * 1024;
/** Within a go the database pauses at this. */
export const PAUSE_BYTES = 4 * 1024 * 1024;
/** Rows are asked for in goes of about this size. */
export const GO_BYTES = 1024 * 1024;
export const FIRST_GO_ROWS = 500;
export const MAX_GO_ROWS = 50_000;
/** An error before as much as this was written is an error of HTTP. */
export const BEGIN_BYTES = 64 * 1024;

export interface RunResult {
  readonly rows: number;
  readonly bytes: number;
  readonly outcome: "ok" | "error" | "cut" | "cancelled";
  readonly code: string | null;
}

/** An answer ends early; its last line says why. */
export class AnswerCut extends Error {
  override readonly name = "AnswerCut";
}

/**
 * - `begin`: the transaction begins;
 * - `run`: the statement runs;
 * - `suspended`: it has given a go of rows, and waits for the client to take them;
 * - `end`: the transaction ends;
 * - `over`: the session does nothing for this statement any more.
 */
export type Phase = "begin" | "run" | "suspended" | "end" | "over";
