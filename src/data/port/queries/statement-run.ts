import type { ReadFailure, ReadRequest } from "../../process/process-messages.ts";
import type { SessionReceiver } from "../engine.ts";
import type { ServerError } from "../protocol/backend-messages.ts";
import type { Pace } from "../reading-pace.ts";
import { PacedGoes } from "./paced-goes.ts";
import type { ReadSession } from "./read-sessions.ts";
import { RunAnswer } from "./run-answer.ts";
import { CANCELLED, RunEnding } from "./run-ending.ts";
import {
  AnswerCut,
  BEGIN_BYTES,
  FIRST_GO_ROWS,
  HIGH_BYTES,
  PAUSE_BYTES,
  type Phase,
  type RunLimits,
  type RunResult,
} from "./run-limits.ts";
import { beginReading, endReading, firstGo, nextGo } from "./run-messages.ts";
import { RunReader } from "./run-reader.ts";
import { RunSession } from "./run-session.ts";

export interface RunOptions {
  readonly limits: RunLimits;
  readonly pace: Pace;
  /** Called once, when the session has been given back. */
  readonly onOver: (result: RunResult) => void;
}

/**
 * One statement in a transaction of its own that only reads. Rows become the bytes of the answer as they come. They are
 * asked for in goes, so that a slow client holds neither memory nor the time of the statement.
 */
export class StatementRun implements SessionReceiver {
  readonly #request: ReadRequest;
  readonly #limits: RunLimits;
  readonly #goes: PacedGoes;
  readonly #onOver: (result: RunResult) => void;
  readonly #session: RunSession;
  readonly #reader: RunReader;
  readonly #answer: RunAnswer;
  readonly #ending = new RunEnding();
  #phase: Phase = "begin";
  /** What still comes is dropped. */
  #isDropping = false;
  #isSuspended = false;
  #wake: () => void = () => undefined;

  constructor(held: ReadSession, request: ReadRequest, { limits, pace, onOver }: RunOptions) {
    this.#request = request;
    this.#goes = new PacedGoes(pace, () => this.#beginGo());
    this.#onOver = onOver;
    this.#limits = limits;
    this.#reader = new RunReader(limits.rowBytes, {
      columns: (body) => this.#answer.columns(body),
      row: (body) => this.#row(body),
      suspended: () => {
        this.#isSuspended = true;
      },
      failed: (error) => this.#failed(error),
      ready: (isIdle) => this.#ready(isIdle),
    });
    this.#answer = new RunAnswer(request, limits);
    const timeoutMs = request.principal.timeoutSeconds * 1_000;
    const onTimeout = () => this.#tookTooLong();
    this.#session = new RunSession(held, { limits, timeoutMs, onTimeout });
    held.receive(this);
    this.#session.send(beginReading(timeoutMs));
  }

  /** Resolves with the type of the answer when it has begun. Rejects with nothing: see `failure`. */
  async begun(): Promise<string | ReadFailure> {
    while (!this.#isBegun()) await this.#change();
    return this.#ending.failure ?? this.#answer.contentType ?? "";
  }

  /** Returns the next bytes of the answer, undefined at its end. Throws `AnswerCut` after the line of an error. */
  async take(): Promise<Buffer | undefined> {
    for (;;) {
      if (this.#answer.waiting > 0) return this.#taken();
      const { failure } = this.#ending;
      if (this.#answer.isWritten) {
        if (failure !== undefined) throw new AnswerCut(failure.message);
        return undefined;
      }
      if (failure === undefined) await this.#change();
      else this.#answer.cut(failure);
    }
  }

  /** The client is gone: the statement ends. */
  abandon(): void {
    this.#answer.drop();
    if (this.#answer.isWritten || !this.#ending.isOpen) return;
    this.#ending.byClient();
    this.#stop();
    this.#session.resume();
    if (this.#phase === "suspended") this.#finish();
    else if (this.#phase !== "end") this.#cancel();
  }

  bytes(bytes: Buffer): boolean {
    try {
      this.#reader.read(bytes);
    } catch (thrown) {
      const message = `A row cannot be read: ${(thrown as Error).message}`;
      const most = Math.floor(this.#limits.rowBytes / MIB);
      this.#ending.byLimit({ code: "54000", message, hint: `A row may have ${most} MiB.` });
      this.#cancel();
      this.#over(false);
    }
    this.#wake();
    const isFull = this.#answer.waiting >= PAUSE_BYTES && this.#isReading();
    if (isFull) {
      this.#session.pause();
      this.#watchClient();
    }
    return !isFull;
  }

  began(): void {
    this.#session.began();
  }

  ended(code: string, message: string): void {
    this.#ending.byError({ code, message });
    this.#over(false);
  }

  #failed({ code, message, hint, position }: ServerError): void {
    if (this.#isDropping) return;
    this.#ending.byError({ code, message, hint, position });
    this.#isDropping = true;
  }

  #row(body: Buffer): void {
    if (this.#isDropping) return;
    const full = this.#answer.row(body);
    if (full === undefined) return;
    if (full.cutBy !== null) this.#ending.byLimit(full.cutBy);
    this.#stop();
    this.#endGo();
  }

  #ready(isIdle: boolean): void {
    this.#session.rest();
    if (this.#phase === "begin" && !this.#isDropping) {
      const { sql, values } = this.#request;
      this.#phase = "run";
      this.#session.send(firstGo(sql, values, this.#goRows()));
    } else if (this.#phase === "end") {
      this.#over(isIdle);
    } else if (this.#isSuspended && !this.#isDropping) {
      this.#isSuspended = false;
      this.#phase = "suspended";
      this.#go();
    } else {
      this.#finish();
    }
  }

  /** Asks for the next go at the pace, unless the client has not taken the last ones. */
  #go(): void {
    if (this.#answer.waiting >= HIGH_BYTES) {
      this.#watchClient();
      return;
    }
    this.#session.watchNobody();
    this.#goes.next(this.#answer.bytes);
  }

  #beginGo(): void {
    this.#phase = "run";
    this.#session.send(nextGo(this.#goRows()));
  }

  #watchClient(): void {
    const { stallMs, copyStallMs } = this.#limits;
    const limitMs = this.#request.login === null ? copyStallMs : stallMs;
    this.#session.watchClient(limitMs, () => {
      const message = `The client has read nothing for ${limitMs / 1_000} seconds.`;
      this.#ending.byLimit({ code: CANCELLED, message });
      this.#stop();
      if (this.#phase === "suspended") this.#finish();
      else this.#endGo();
      this.#session.resume();
    });
  }

  /** A go ends by itself, and so does a list, which has a limit of its own. */
  #endGo(): void {
    if (this.#isWhole() && this.#request.via === "query") this.#cancel();
  }

  /** Whether all rows are asked for at once, which the database may then compute with several processes. */
  #isWhole(): boolean {
    return this.#request.format === "json" && this.#request.login !== null;
  }

  #isReading(): boolean {
    return this.#phase === "run" && !this.#isDropping;
  }

  /** Rows of the next go; 0 for all. */
  #goRows(): number {
    return this.#isWhole() ? 0 : this.#answer.goRows(this.#goes.goBytes);
  }

  #finish(): void {
    if (this.#phase === "end" || this.#phase === "over") return;
    this.#phase = "end";
    this.#goes.end();
    this.#session.watchNobody();
    const fault = this.#ending.isOpen ? this.#answer.end() : undefined;
    if (fault !== undefined) this.#ending.byError(fault);
    this.#session.send(endReading());
    this.#wake();
  }

  #over(isReady: boolean): void {
    if (this.#phase === "over") return;
    this.#phase = "over";
    this.#goes.end();
    this.#settle();
    this.#session.release(isReady);
    const { rows, bytes } = this.#answer;
    this.#onOver({ rows, bytes, ...this.#ending.outcome() });
    this.#wake();
  }

  /** Nothing comes any more, so an answer that is not at its end gets one: a reader would wait for it without limit. */
  #settle(): void {
    if (!this.#ending.isOpen || this.#answer.isWritten) return;
    // The rows of a full answer are all there, though the statement did not end when it was cancelled.
    const fault = this.#answer.isFull ? this.#answer.end() : UNENDED;
    if (fault !== undefined) this.#ending.byLimit(fault);
  }

  #stop(): void {
    this.#isDropping = true;
    this.#wake();
  }

  /** Cancels what runs, and closes the session if that has no effect. */
  #cancel(): void {
    this.#session.cancel(() => this.#over(false));
  }

  #tookTooLong(): void {
    const seconds = this.#request.principal.timeoutSeconds;
    const message = this.#session.isWaiting
      ? `The statement waited ${seconds} seconds for its turn, the most for this key.`
      : `The statement took longer than ${seconds} seconds, the most for this key.`;
    this.#ending.byLimit({ code: CANCELLED, message });
    this.#stop();
    this.#cancel();
  }

  #taken(): Buffer {
    const taken = this.#answer.take();
    this.#session.resume();
    if (this.#phase === "suspended" && !this.#isDropping) this.#go();
    return taken;
  }

  #isBegun(): boolean {
    if (!this.#ending.isOpen || this.#answer.isWritten) return true;
    if (this.#answer.contentType === undefined) return this.#phase === "over";
    const { waiting, rows } = this.#answer;
    return waiting >= BEGIN_BYTES || this.#phase !== "run" || rows >= FIRST_GO_ROWS;
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

const MIB = 1024 * 1024;
const UNENDED: ReadFailure = {
  code: "57P01",
  message: "The statement was ended before its last row.",
};
