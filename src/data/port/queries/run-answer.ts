import type { ReadFailure, ReadRequest } from "../../process/process-messages.ts";
import { writePlace } from "../../queries/page-place.ts";
import { readError } from "../../queries/read-error.ts";
import { Output } from "./output.ts";
import { readColumns } from "./result-columns.ts";
import { createFormat, lastValues, type RowFormat } from "./row-formats.ts";
import { FIRST_GO_ROWS, GO_BYTES, MAX_GO_ROWS, type RunLimits } from "./run-limits.ts";

/** No further row fits: the answer is whole, or a limit cuts it. */
export interface AnswerFull {
  readonly cutBy: ReadFailure | null;
}

/** The answer to one statement: the database's messages become bytes of its format, up to the limits. */
export class RunAnswer {
  readonly #request: ReadRequest;
  readonly #limits: RunLimits;
  readonly #output = new Output();
  /** Rows to answer with. */
  readonly #maxRows: number;
  #format: RowFormat | undefined;
  #rows = 0;
  #hasMore = false;
  #next: string | null = null;
  #isWritten = false;

  constructor(request: ReadRequest, limits: RunLimits) {
    const { principal, rows } = request;
    this.#request = request;
    this.#limits = limits;
    this.#maxRows = Math.min(rows ?? principal.rowLimit, principal.rowLimit);
  }

  /** Undefined until the columns are known. */
  get contentType(): string | undefined {
    return this.#format?.contentType;
  }

  get rows(): number {
    return this.#rows;
  }

  /** Bytes of all of it so far. */
  get bytes(): number {
    return this.#output.total;
  }

  /** Bytes that wait for the client. */
  get waiting(): number {
    return this.#output.length;
  }

  /** The database has brought a row beyond those to answer with. */
  get isFull(): boolean {
    return this.#hasMore;
  }

  /** All of it is in the output. */
  get isWritten(): boolean {
    return this.#isWritten;
  }

  /** Returns what waits. The caller owns it. */
  take(): Buffer {
    return this.#output.take();
  }

  /** Drops what waits. */
  drop(): void {
    this.#output.clear();
  }

  /** @param body of a RowDescription. */
  columns(body: Buffer): void {
    const { paging, names = [] } = this.#request;
    const columns = readColumns(body);
    const shown = columns
      .slice(0, columns.length - (paging?.columns ?? 0))
      .map((column, index) => ({ ...column, name: names[index] ?? column.name }));
    this.#format = createFormat(this.#request, shown);
    this.#format.head(this.#output);
  }

  /** Adds a row. @param body of a DataRow. */
  row(body: Buffer): AnswerFull | undefined {
    if (this.#format === undefined) return undefined;
    if (this.#rows === this.#maxRows) {
      this.#hasMore = true;
      return { cutBy: this.#isPage() ? null : tooManyRows(this.#rows) };
    }
    this.#format.row(this.#output, body, this.#rows === 0);
    this.#rows += 1;
    const { paging } = this.#request;
    if (this.#rows === this.#maxRows && paging !== null) {
      this.#next = writePlace(lastValues(body, paging.columns), paging.key);
    }
    return this.#output.total > this.#limits.answerBytes ? { cutBy: TOO_LARGE } : undefined;
  }

  /** Rows to ask for next, by the size of those that came. @param bytes that they may have. */
  goRows(bytes: number): number {
    const rowBytes = this.#output.total / Math.max(this.#rows, 1);
    const sized =
      this.#rows === 0 ? FIRST_GO_ROWS : Math.floor(Math.min(bytes, GO_BYTES) / rowBytes);
    const rest = this.#maxRows - this.#rows + 1;
    return Math.max(1, Math.min(sized, MAX_GO_ROWS, rest));
  }

  /** Ends it after its last row. Returns why it cannot be an answer. */
  end(): ReadFailure | undefined {
    if (this.#format === undefined) {
      return { code: "42601", message: "The statement brings no rows." };
    }
    const { asOf } = this.#request;
    const next = this.#hasMore ? this.#next : null;
    this.#format.end(this.#output, { hasMore: this.#hasMore, next, asOf });
    this.#isWritten = true;
    return undefined;
  }

  /** Ends it with the line that says why. */
  cut(failure: ReadFailure): void {
    const { message, type, code, ext } = readError(failure, this.#request.via);
    const json = JSON.stringify({ message, type, param: null, code, ...ext });
    this.#format?.cut(this.#output, { json, text: `${failure.code}: ${message}` });
    this.#isWritten = true;
  }

  /** Whether it ends at its last row because the client asked for no more. */
  #isPage(): boolean {
    return this.#request.format === "json" || this.#maxRows === this.#request.rows;
  }
}

const TOO_LARGE: ReadFailure = {
  code: "54000",
  message: "The answer is cut: it is larger than 1 GiB.",
  hint: "Read it in parts.",
};

function tooManyRows(rows: number): ReadFailure {
  return {
    code: "54000",
    message: `The answer is cut after ${rows} rows, the most that this key may read with one statement.`,
    hint: "Read less with conditions, or in parts.",
  };
}
