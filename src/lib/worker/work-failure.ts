/**
 * Why a job has no further results:
 * - `time`, `memory`, `output`: it exceeded that limit, and its process was killed
 * - `crashed`: its process ended by itself, or another program killed it
 * - `closed`: the workers were closed
 * - `failed`: its work threw an error; `code` and `message` are that error's
 */
export type WorkFailureReason = "time" | "memory" | "output" | "crashed" | "closed" | "failed";

/** A job in a worker process that did not complete. Other jobs are not affected. */
export class WorkFailure extends Error {
  override readonly name = "WorkFailure";
  readonly reason: WorkFailureReason;
  readonly code: string | null;

  constructor(reason: WorkFailureReason, message: string, code: string | null = null) {
    super(message);
    this.reason = reason;
    this.code = code;
  }
}
