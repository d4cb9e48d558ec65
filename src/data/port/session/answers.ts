import type { Statement } from "../../process/process-messages.ts";
import { errorResponse, readError, type ServerError } from "../protocol/backend-messages.ts";
import { ProtocolFault } from "../protocol/message-reader.ts";
import type { AnswerVisitor, Decision } from "./answer-stream.ts";
import type { Portal } from "./kept-names.ts";
import { MAX_ANSWER_BYTES } from "./session-limits.ts";

export type TransactionStatus = "I" | "T" | "E";

/** A message that was sent to the database, with what is known of its answer. */
export interface Expected {
  readonly kind: keyof typeof LAST_ANSWERS;
  /** The text without literals of the statement that it runs, checks or binds; empty to log nothing. */
  readonly text: string;
  /** What counts for the caps: a statement's rows, or a portal's over several messages. */
  readonly portal: Portal;
  /** The gate's refusal: the database got a text that fails, and its error is replaced by this. */
  readonly refusal?: ServerError;
  /** Of the gateway itself: the client sees nothing of its answer. */
  readonly own?: { readonly succeeded: () => void };
}

/** The client asked for it, or the statement took too long, or it waited too long for its turn. */
export type CancelReason = "client" | "timeout" | "wait";

interface Running extends Expected {
  startedAt: number;
  rows: number;
  bytes: number;
  /** Why it was cancelled. */
  cancelled?: CancelReason;
  outcome: Statement["outcome"];
  code: string | null;
}

export interface AnswersOptions {
  readonly rowLimit: number;
  readonly timeoutSeconds: number;
  readonly now: () => number;
  readonly statement: (
    statement: Pick<Statement, "text" | "startedAt" | "rows" | "bytes" | "outcome" | "code">,
  ) => void;
  /** Another message is answered now, or none. */
  readonly moved: () => void;
  /** The statement has reached a cap: it must be cancelled. */
  readonly cut: () => void;
}

/** The types of message that end the answer to each message, unless an error does. */
const LAST_ANSWERS = {
  query: "Z",
  sync: "Z",
  parse: "1",
  bind: "2",
  close: "3",
  describe: "Tn",
  execute: "CsI",
};
const PASSED = "123nstTCIS";

/**
 * Follows the answers of a database in the order of what was sent: counts rows, cuts a statement at its cap, replaces
 * errors, and knows the transaction's status.
 */
export class Answers implements AnswerVisitor {
  readonly #options: AnswersOptions;
  readonly #expected: Running[] = [];
  /** A statement was cut: its rest is dropped up to ReadyForQuery. */
  #isDropping = false;
  /** After an error, what the client sends up to its Sync is skipped. */
  isSkipping = false;
  status: TransactionStatus = "I";
  /** The client has got a FATAL error. */
  hasFailed = false;

  constructor(options: AnswersOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#expected.length;
  }

  /** The message that is answered now. */
  get current(): Expected | undefined {
    return this.#expected[0];
  }

  expect(expected: Expected): void {
    const unknown = { startedAt: 0, rows: 0, bytes: 0, outcome: "ok", code: null } as const;
    this.#expected.push({ ...expected, ...unknown });
    if (expected.kind === "sync") this.isSkipping = false;
    if (this.#expected.length === 1) this.#begin();
  }

  /** Notes why the statement in progress is cancelled; false when there is none. */
  cancelling(reason: CancelReason): boolean {
    const current = this.#expected[0];
    if (current === undefined) return false;
    current.cancelled ??= reason;
    return true;
  }

  /** Logs the statement in progress, whose end nobody will see. */
  abandon(outcome: Statement["outcome"], code: string | null): void {
    const current = this.#expected.shift();
    this.#expected.length = 0;
    if (current !== undefined) this.#log({ ...current, outcome, code });
  }

  readonly decide = (type: string, bodyBytes: number): Decision => {
    const current = this.#expected[0];
    if (current?.own !== undefined && type !== "S") {
      if (type === "E") current.outcome = "error";
      return type === "Z" ? "hold" : "drop";
    }
    if (type === "D") return this.#decideRow(bodyBytes + 5);
    if (type === "Z" || type === "E") return "hold";
    if (type === "A") return "drop";
    if (type === "S") return "pass";
    if (type !== "N" && !PASSED.includes(type)) {
      throw new ProtocolFault(`The database sent a message of type '${type}'.`);
    }
    return this.#isDropping ? "drop" : "pass";
  };

  readonly finished = (type: string): void => {
    const current = this.#expected[0];
    if (current === undefined || this.#isDropping) return;
    if (current.kind === "query") {
      if (type === "C") Object.assign(current.portal, { rows: 0, bytes: 0 });
    } else if (LAST_ANSWERS[current.kind].includes(type)) {
      if (current.kind === "execute") this.#log(current);
      this.#next();
    }
  };

  readonly held = (type: string, body: Buffer, isWhole: boolean): Buffer | undefined =>
    type === "Z" ? this.#ready(body) : this.#failed(body, isWhole);

  #decideRow(bytes: number): Decision {
    // A cut without a Sync behind it leaves nothing that is answered now.
    if (this.#isDropping) return "drop";
    const current = this.#expected[0];
    if (current === undefined) throw new ProtocolFault("The database sent a row of no statement.");
    const { portal } = current;
    if (portal.rows + 1 > this.#options.rowLimit) {
      return this.#cut(
        `The statement has more than ${this.#options.rowLimit} rows, as many as this key may read at once.`,
      );
    }
    if (portal.bytes + bytes > MAX_ANSWER_BYTES) {
      return this.#cut(
        "The statement has more than 1 GiB of rows, as much as may be read at once.",
      );
    }
    portal.rows += 1;
    portal.bytes += bytes;
    current.rows += 1;
    current.bytes += bytes;
    return "pass";
  }

  #cut(message: string): Buffer {
    const current = this.#expected[0];
    this.#isDropping = true;
    if (current !== undefined) {
      this.#log({ ...current, outcome: "cut", code: "54000" });
      if (current.kind === "query") Object.assign(current, { text: "" });
      else this.#skipToSync();
    }
    this.#options.cut();
    const hint = "Add LIMIT, or narrow the statement with WHERE or GROUP BY.";
    return errorResponse({ severity: "ERROR", code: "54000", message, hint });
  }

  #ready(body: Buffer): Buffer | undefined {
    const current = this.#expected[0];
    if (current === undefined || LAST_ANSWERS[current.kind] !== "Z") {
      throw new ProtocolFault("The database became ready while a message was to be answered.");
    }
    const status = body.toString("latin1");
    this.status = status === "T" || status === "E" ? status : "I";
    this.#isDropping = false;
    if (current.kind === "query") this.#log(current);
    this.#next();
    if (current.own === undefined) return undefined;
    if (current.outcome === "ok") current.own.succeeded();
    return Buffer.alloc(0);
  }

  /** After an error. Returns what to write instead of it; undefined to pass it. */
  #failed(body: Buffer, isWhole: boolean): Buffer | undefined {
    const error = readError(isWhole ? body : closeFields(body));
    const current = this.#expected[0];
    if (error.severity === "FATAL") {
      this.hasFailed = true;
      this.abandon("error", error.code);
      return isWhole ? undefined : errorResponse(error);
    }
    if (this.#isDropping) return Buffer.alloc(0);
    let instead = isWhole ? undefined : errorResponse(error);
    if (current !== undefined) {
      Object.assign(current, { outcome: outcomeOf(error.code, current), code: error.code });
      const own = this.#ownError(error.code, current);
      if (own !== undefined) {
        current.code = own.code;
        instead = errorResponse(own);
      }
      if (current.kind !== "query" && current.kind !== "sync") {
        this.#log(current);
        this.#skipToSync();
      }
    }
    return instead;
  }

  #ownError(code: string, current: Running): ServerError | undefined {
    if (current.refusal !== undefined) return current.refusal;
    if (code !== "57014") return undefined;
    if (current.cancelled === "wait") {
      const message = `The statement waited ${this.#options.timeoutSeconds} seconds for its turn.`;
      const hint = "Other statements run now. An administrator can raise BIKEY_PG_MAX_RUNNING.";
      return { severity: "ERROR", code, message, hint };
    }
    if (current.cancelled !== "timeout") return undefined;
    const message = `The statement took longer than ${this.#options.timeoutSeconds} seconds.`;
    const hint = "Narrow it with WHERE, or read a view that is already summed up.";
    return { severity: "ERROR", code, message, hint };
  }

  #skipToSync(): void {
    const sync = this.#expected.findIndex(({ kind }) => kind === "sync");
    if (sync === -1) this.isSkipping = true;
    this.#expected.splice(0, sync === -1 ? this.#expected.length : sync);
    this.#begin();
  }

  #next(): void {
    this.#expected.shift();
    this.#begin();
  }

  #begin(): void {
    const current = this.#expected[0];
    if (current !== undefined) current.startedAt = this.#options.now();
    this.#options.moved();
  }

  #log({ text, startedAt, rows, bytes, outcome, code }: Running): void {
    if (text !== "") this.#options.statement({ text, startedAt, rows, bytes, outcome, code });
  }
}

function outcomeOf(code: string, { refusal, cancelled }: Running): Statement["outcome"] {
  if (refusal !== undefined) return "refused";
  if (code !== "57014") return "error";
  return cancelled === "client" ? "cancelled" : "cut";
}

/** The fields of an error that was cut somewhere: the one in progress ends there. */
function closeFields(body: Buffer): Buffer {
  return Buffer.concat([body, Buffer.alloc(2)]);
}
