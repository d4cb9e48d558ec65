import type { ReadFailure } from "../../process/process-messages.ts";
import type { RunResult } from "./run-limits.ts";

export const CANCELLED = "57014";

/** Why a statement ends before its rows do: an error, a limit, or that the client has gone. The first reason counts. */
export class RunEnding {
  #failure: ReadFailure | undefined;
  #isCut = false;
  #isAbandoned = false;

  get failure(): ReadFailure | undefined {
    return this.#failure;
  }

  get isAbandoned(): boolean {
    return this.#isAbandoned;
  }

  /** Whether nothing has ended it early so far. */
  get isOpen(): boolean {
    return this.#failure === undefined && !this.#isAbandoned;
  }

  /** An error of the database or of its session. Its own time limit is a limit, too. */
  byError(failure: ReadFailure): void {
    if (this.#failure !== undefined) return;
    this.#failure = failure;
    this.#isCut = failure.code === CANCELLED;
  }

  /** A limit of the key or of the server. */
  byLimit(failure: ReadFailure): void {
    if (!this.isOpen) return;
    this.#failure = failure;
    this.#isCut = true;
  }

  byClient(): void {
    if (this.isOpen) this.#isAbandoned = true;
  }

  /** As the log of statements has it. */
  outcome(): Pick<RunResult, "outcome" | "code"> {
    if (this.#isAbandoned) return { outcome: "cancelled", code: CANCELLED };
    if (this.#failure === undefined) return { outcome: "ok", code: null };
    return { outcome: this.#isCut ? "cut" : "error", code: this.#failure.code };
  }
}
