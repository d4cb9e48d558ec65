// biome-ignore-all lint/style/noExcessiveLinesPerFile: one state machine, whose parts share all of its state
import type { ReadFailure, ReadRequest } from "../../process/process-messages.ts";
import { writePlace } from "../../queries/page-place.ts";
import { readError } from "../../queries/read-error.ts";
import type { SessionReceiver } from "../engine.ts";
import { readError as readServerError } from "../protocol/backend-messages.ts";
import {
  bind,
  describePortal,
  execute,
  parse,
  query,
  sync,
} from "../protocol/frontend-messages.ts";
import { MessageReader } from "../protocol/message-reader.ts";
import { Output } from "./output.ts";
import type { ReadSession } from "./read-sessions.ts";
import { readColumns } from "./result-columns.ts";
import { createFormat, lastValues, type RowFormat } from "./row-formats.ts";
import {
  AnswerCut,
  BEGIN_BYTES,
  beginReading,
  FIRST_GO_ROWS,
  GO_BYTES,
  HIGH_BYTES,
  MAX_GO_ROWS,
  PAUSE_BYTES,
  type Phase,
  RUN_LIMITS,
  type RunLimits,
  type RunResult,
  WorkClock,
} from "./run-limits.ts";

/**
 * One statement in a transaction of its own that only reads. Rows become the bytes of the answer as they come. They are
 * asked for in goes, so that a slow client holds neither memory nor the time of the statement.
 */
export class StatementRun implements SessionReceiver {
  readonly #held: ReadSession;
  readonly #request: ReadRequest;
  readonly #limits: RunLimits;
  readonly #onOver: (result: RunResult) => void;
  readonly #output = new Output();
  readonly #reader: MessageReader;
  /** Rows to answer with. */
  readonly #maxRows: number;
  #phase: Phase = "begin";
  #format: RowFormat | undefined;
  #shownColumns = 0;
  #rows = 0;
  #hasMore = false;
  #next: string | null = null;
  #failure: ReadFailure | undefined;
  #isCut = false;
  #isAbandoned = false;
  #isCancelled = false;
  /** What still comes is dropped. */
  #isDropping = false;
  /** All of the answer is in the output. */
  #isWritten = false;
  #isSuspended = false;
  #isPaused = false;
  #wake: () => void = () => undefined;
  readonly #clock: WorkClock;
  /** Of a stalled client, or of a cancel that has no effect. */
  #waiting: NodeJS.Timeout | undefined;

  /** @param onOver is called once, when the session has been given back. */
  constructor(
    held: ReadSession,
    request: ReadRequest,
    onOver: (result: RunResult) => void,
    limits: RunLimits = RUN_LIMITS,
  ) {
    const { principal, rows } = request;
    this.#held = held;
    this.#request = request;
    this.#onOver = onOver;
    this.#limits = limits;
    this.#reader = new MessageReader(limits.rowBytes);
    this.#maxRows = Math.min(rows ?? principal.rowLimit, principal.rowLimit);
    const timeoutMs = principal.timeoutSeconds * 1_000;
    this.#clock = new WorkClock(timeoutMs, limits.graceMs, () => this.#tookTooLong());
    held.receive(this);
    this.#send(beginReading(timeoutMs));
  }

  /** Resolves with the type of the answer when it has begun. Rejects with nothing: see `failure`. */
  async begun(): Promise<string | ReadFailure> {
    while (!this.#isBegun()) await this.#change();
    return this.#failure ?? this.#format?.contentType ?? "";
  }

  /** Returns the next bytes of the answer, undefined at its end. Throws `AnswerCut` after the line of an error. */
  async take(): Promise<Buffer | undefined> {
    for (;;) {
      if (this.#output.length > 0) return this.#taken();
      if (this.#isWritten && this.#failure !== undefined) {
        throw new AnswerCut(this.#failure.message);
      }
      if (this.#isWritten) return undefined;
      if (this.#failure === undefined) await this.#change();
      else this.#writeFailure(this.#failure);
    }
  }

  /** The client is gone: the statement ends. */
  abandon(): void {
    this.#output.clear();
    if (this.#isAbandoned || this.#isWritten || this.#failure !== undefined) return;
    this.#isAbandoned = true;
    this.#stop();
    this.#resume();
    if (this.#phase === "suspended") this.#finish();
    else if (this.#phase !== "end") this.#cancel();
  }

  bytes(bytes: Buffer): boolean {
    try {
      for (const { type, body } of this.#reader.read(bytes)) this.#message(type, body);
    } catch (thrown) {
      this.#fail("54000", `A row cannot be read: ${(thrown as Error).message}`);
      this.#held.session.cancel();
      this.#over(false);
    }
    this.#wake();
    this.#isPaused = this.#output.length >= PAUSE_BYTES && this.#isReading();
    if (this.#isPaused) {
      this.#clock.stop();
      this.#watchClient();
    }
    return !this.#isPaused;
  }

  ended(code: string, message: string): void {
    this.#failure ??= { code, message };
    this.#over(false);
  }

  #message(type: string, body: Buffer): void {
    switch (type) {
      case "D":
        this.#row(body);
        return;
      case "T": {
        const columns = readColumns(body);
        this.#shownColumns = columns.length - (this.#request.paging?.columns ?? 0);
        this.#format = createFormat(this.#request, columns.slice(0, this.#shownColumns));
        this.#format.head(this.#output);
        return;
      }
      case "s":
        this.#isSuspended = true;
        return;
      case "E": {
        const { code, message, hint, position } = readServerError(body);
        if (this.#isDropping) return;
        this.#failure = { code, message, hint, position };
        this.#isCut = code === CANCELLED;
        this.#isDropping = true;
        return;
      }
      case "Z":
        this.#ready(body[0] === IDLE);
        return;
      default:
    }
  }

  #row(body: Buffer): void {
    if (this.#isDropping || this.#format === undefined) return;
    if (this.#rows === this.#maxRows) {
      this.#hasMore = true;
      const isPage = this.#request.format === "json" || this.#maxRows === this.#request.rows;
      if (!isPage) {
        this.#fail(
          "54000",
          `The answer is cut after ${this.#rows} rows, the most that this key may read with one statement.`,
          "Read less with conditions, or in parts.",
        );
      }
      this.#stop();
      this.#endGo();
      return;
    }
    this.#format.row(this.#output, body, this.#rows === 0);
    this.#rows += 1;
    const { paging } = this.#request;
    if (this.#rows === this.#maxRows && paging !== null) {
      this.#next = writePlace(lastValues(body, paging.columns), paging.key);
    }
    if (this.#output.total > this.#limits.answerBytes) {
      this.#fail("54000", "The answer is cut: it is larger than 1 GiB.", "Read it in parts.");
      this.#stop();
      this.#endGo();
    }
  }

  #ready(isIdle: boolean): void {
    this.#clock.stop();
    if (this.#phase === "begin" && !this.#isDropping) {
      const { sql, values } = this.#request;
      this.#phase = "run";
      const messages = [parse("", sql), bind("", "", values), describePortal("")];
      this.#send(Buffer.concat([...messages, execute("", this.#goRows()), sync()]));
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

  /** Asks for the next go, unless the client has not taken the last ones. */
  #go(): void {
    if (this.#output.length < HIGH_BYTES) {
      clearTimeout(this.#waiting);
      this.#phase = "run";
      this.#send(Buffer.concat([execute("", this.#goRows()), sync()]));
      return;
    }
    this.#watchClient();
  }

  #watchClient(): void {
    const { stallMs, copyStallMs } = this.#limits;
    const limitMs = this.#request.login === null ? copyStallMs : stallMs;
    clearTimeout(this.#waiting);
    this.#waiting = setTimeout(() => {
      this.#fail(CANCELLED, `The client has read nothing for ${limitMs / 1_000} seconds.`);
      this.#stop();
      if (this.#phase === "suspended") this.#finish();
      else this.#endGo();
      this.#resume();
    }, limitMs);
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
    if (this.#isWhole()) return 0;
    const rowBytes = this.#output.total / Math.max(this.#rows, 1);
    const sized = this.#rows === 0 ? FIRST_GO_ROWS : Math.floor(GO_BYTES / rowBytes);
    const rest = this.#maxRows - this.#rows + 1;
    return Math.max(1, Math.min(sized, MAX_GO_ROWS, rest));
  }

  #finish(): void {
    if (this.#phase === "end" || this.#phase === "over") return;
    this.#phase = "end";
    clearTimeout(this.#waiting);
    this.#writeEnd();
    this.#send(query("commit"));
    this.#wake();
  }

  #writeEnd(): void {
    if (this.#failure !== undefined || this.#isAbandoned) return;
    if (this.#format === undefined) {
      this.#failure = { code: "42601", message: "The statement brings no rows." };
      return;
    }
    const { asOf } = this.#request;
    const next = this.#hasMore ? this.#next : null;
    this.#format.end(this.#output, { hasMore: this.#hasMore, next, asOf });
    this.#isWritten = true;
  }

  #writeFailure(failure: ReadFailure): void {
    const { message, type, code, ext } = readError(failure, this.#request.via);
    const json = JSON.stringify({ message, type, param: null, code, ...ext });
    this.#format?.cut(this.#output, { json, text: `${failure.code}: ${message}` });
    this.#isWritten = true;
  }

  #over(isReady: boolean): void {
    if (this.#phase === "over") return;
    this.#phase = "over";
    this.#clock.stop();
    clearTimeout(this.#waiting);
    // A cancel may arrive late, and must not meet the next statement.
    this.#held.release(isReady && !this.#isCancelled);
    this.#onOver({ rows: this.#rows, bytes: this.#output.total, ...this.#outcome() });
    this.#wake();
  }

  #outcome(): Pick<RunResult, "outcome" | "code"> {
    if (this.#isAbandoned) return { outcome: "cancelled", code: CANCELLED };
    if (this.#failure === undefined) return { outcome: "ok", code: null };
    return { outcome: this.#isCut ? "cut" : "error", code: this.#failure.code };
  }

  /** Ends the answer by a limit. */
  #fail(code: string, message: string, hint?: string): void {
    if (this.#failure !== undefined || this.#isAbandoned) return;
    this.#failure = { code, message, hint };
    this.#isCut = true;
  }

  #stop(): void {
    this.#isDropping = true;
    this.#wake();
  }

  /** Cancels what runs, and closes the session if that has no effect. */
  #cancel(): void {
    this.#clock.stop();
    this.#isCancelled = true;
    this.#held.session.cancel();
    clearTimeout(this.#waiting);
    this.#waiting = setTimeout(() => this.#over(false), this.#limits.cancelMs);
  }

  #send(messages: Buffer): void {
    this.#clock.start();
    this.#held.session.send(messages);
  }

  #tookTooLong(): void {
    const seconds = this.#request.principal.timeoutSeconds;
    const text = `The statement took longer than ${seconds} seconds, the most for this key.`;
    this.#fail(CANCELLED, text);
    this.#stop();
    this.#cancel();
  }

  #taken(): Buffer {
    const taken = this.#output.take();
    this.#resume();
    if (this.#phase === "suspended" && !this.#isDropping) this.#go();
    return taken;
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#clock.start();
    this.#held.session.resume();
  }

  #isBegun(): boolean {
    if (this.#failure !== undefined || this.#isWritten || this.#isAbandoned) return true;
    if (this.#format === undefined) return this.#phase === "over";
    return (
      this.#output.length >= BEGIN_BYTES || this.#phase !== "run" || this.#rows >= FIRST_GO_ROWS
    );
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

const CANCELLED = "57014";
const IDLE = "I".charCodeAt(0);
