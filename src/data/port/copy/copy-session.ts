import type { FunctionCatalog } from "../../../lib/sql-gate/postgres/function-catalog.ts";
import { quoteName } from "../../copy/quote-sql.ts";
import type { Principal } from "../../principal.ts";
import type { EngineSession, SessionReceiver } from "../engine.ts";
import { errorResponse, readyForQuery, type ServerError } from "../protocol/backend-messages.ts";
import { FieldReader } from "../protocol/fields.ts";
import { query, runAside, sync } from "../protocol/frontend-messages.ts";
import type { Message } from "../protocol/message-reader.ts";
import { hasError, readStatus, reportsOf, without } from "./answers.ts";
import { passMessage } from "./pass-message.ts";
import type { Runner } from "./runner.ts";
import type { SessionHost } from "./session-host.ts";
import { SessionInput } from "./session-input.ts";
import type { SessionMemory } from "./session-memory.ts";
import { cancelled, StatementLimit } from "./statement-limit.ts";
import { runPortal, runText } from "./statement-run.ts";
import { type Turn, TurnRefusal } from "./turn-queue.ts";

/** A client that holds the turn and neither sends nor takes anything for so long loses its session. */
const IDLE_MS = 10_000;
/** Cursors WITH HOLD keep the turn, and are closed when their client does nothing for so long. */
const HELD_IDLE_MS = 5_000;

export interface SessionOptions {
  readonly principal: Principal;
  readonly receiver: SessionReceiver;
  readonly parameters: ReadonlyMap<string, string>;
  readonly catalog: FunctionCatalog;
  readonly memory: SessionMemory;
}

class SessionOver extends Error {}

const byUser = cancelled("canceling statement due to user request");
const byWait = cancelled(
  "canceling statement due to statement timeout: others used the embedded database all the time",
);

/** One client on the copy. Its messages run in turns: see `TurnQueue`. */
export class CopySession implements EngineSession, Runner {
  readonly parameters: ReadonlyMap<string, string>;
  readonly catalog: FunctionCatalog;
  readonly memory: SessionMemory;
  readonly principal: Principal;
  readonly takePlace = null;
  /** A limit of its own ends the wait. */
  readonly isWaiting = false;
  readonly #receiver: SessionReceiver;
  readonly #host: SessionHost;
  readonly #input = new SessionInput();
  #resumed: (() => void) | undefined;
  #pumping = false;
  #closed = false;
  #turn: Turn | undefined;
  #waiting: AbortController | undefined;
  /** Everything up to Sync is skipped after an error. */
  #isSkipping = false;
  readonly #limit: StatementLimit;
  /** Cursors that outlive their transaction are open. */
  #isHolding = false;
  isIdle = true;
  #idle: NodeJS.Timeout | undefined;

  constructor(host: SessionHost, options: SessionOptions) {
    this.#host = host;
    this.principal = options.principal;
    this.#receiver = options.receiver;
    this.parameters = options.parameters;
    this.catalog = options.catalog;
    this.memory = options.memory;
    this.#limit = new StatementLimit(
      () => this.#limitMs(),
      (reason) => host.exit(this, reason),
    );
  }

  send(messages: Buffer): boolean {
    clearTimeout(this.#idle);
    const takesMore = this.#input.add(messages);
    void this.#pump();
    return takesMore;
  }

  drained(): Promise<void> {
    return this.#closed ? Promise.resolve() : this.#input.drained();
  }

  resume(): void {
    this.#resumed?.();
  }

  /** Its turn ends with its transaction. */
  rest(): void {}

  cancel(): void {
    this.#cancelWith(byUser);
  }

  close(): void {
    if (this.#closed) return;
    this.#cancelWith(byUser);
    this.#closed = true;
    this.#host.gone(this);
    clearTimeout(this.#idle);
    this.#resumed?.();
    void this.#pump();
  }

  /** Tells the client that the session is over, and why. */
  end(code: string, text: string): void {
    if (this.#closed) return;
    this.#receiver.ended(code, text);
    this.#closed = true;
    this.#host.gone(this);
    this.#waiting?.abort(byUser);
    clearTimeout(this.#idle);
    this.#resumed?.();
    void this.#pump();
  }

  #cancelWith(reason: ServerError): void {
    this.#waiting?.abort(reason);
    if (this.#turn !== undefined && this.#limit.stop(reason)) this.#resumed?.();
  }

  async #pump(): Promise<void> {
    if (this.#pumping) return;
    this.#pumping = true;
    try {
      for (let next = this.#input.take(); next !== undefined; next = this.#input.take()) {
        if (this.#closed) break;
        await this.#handle(next);
      }
    } catch (thrown) {
      if (!(thrown instanceof SessionOver)) {
        this.#host.broken(thrown);
        this.end("57P01", "terminating connection because the embedded copy failed");
      }
    }
    if (this.#closed) await this.#leave();
    this.#pumping = false;
    if (this.#turn !== undefined) this.#watchIdle();
  }

  #watchIdle(): void {
    if (this.#isHolding) {
      this.#idle = setTimeout(() => void this.#leave(), HELD_IDLE_MS);
      return;
    }
    this.#idle = setTimeout(() => {
      this.end("25P03", "terminating connection: it kept the embedded database waiting for 10 s");
    }, IDLE_MS);
  }

  /** Gives the turn back, whatever was in progress. */
  async #leave(): Promise<void> {
    this.#input.clear();
    const turn = this.#turn;
    if (turn === undefined) return;
    this.#turn = undefined;
    this.#isHolding = false;
    await this.#host.clear().catch((thrown: unknown) => this.#host.broken(thrown));
    turn.end();
  }

  async #handle({ type, body }: Message): Promise<void> {
    if (type === "X") return this.close();
    if (type === "H" || (this.#isSkipping && type !== "S")) return;
    if (this.#turn === undefined && type === "S") return this.#answerSync();
    if (this.#turn === undefined && !(await this.#begin())) {
      if (type === "Q") this.#receiver.bytes(readyForQuery("I"));
      else this.#isSkipping = true;
      return;
    }
    if (type === "Q") {
      await runText(this, new FieldReader(body).text());
      return this.#sync();
    }
    if (type === "S") return this.#sync();
    if (type === "E") {
      const fields = new FieldReader(body);
      const run = { portal: fields.text(), maxRows: Math.max(0, fields.int32()), at: 0 };
      this.#isSkipping = !(await runPortal(this, run));
    } else this.#isSkipping = !(await passMessage(this, { type, body }, () => this.#tooLarge()));
  }

  #answerSync(): void {
    this.#isSkipping = false;
    this.#receiver.bytes(readyForQuery("I"));
  }

  #tooLarge(): never {
    this.end("54000", "terminating connection: its prepared statements are too large together");
    throw new SessionOver();
  }

  async #sync(): Promise<void> {
    const answer = await this.execute(sync());
    const status = readStatus(answer);
    if (status === undefined) throw new Error("The embedded copy answers no more.");
    this.#isSkipping = false;
    this.finished();
    this.isIdle = status === "I";
    this.#isHolding = false;
    if (status !== "I") return this.emit(answer);
    const { isHolding, reports } = await this.memory.read(this.#host.database);
    this.#isHolding = isHolding;
    if (!isHolding) {
      const turn = this.#turn;
      this.#turn = undefined;
      turn?.end();
    }
    await this.emit(Buffer.concat([without(answer, "Z"), reports, readyForQuery("I")]));
  }

  /** Waits for the turn and sets the session up. False where an error went to the client instead. */
  async #begin(): Promise<boolean> {
    const waiting = new AbortController();
    this.#waiting = waiting;
    const timer = setTimeout(() => waiting.abort(byWait), this.#limitMs());
    try {
      const turn = await this.#host.queue.take(this.principal.id, waiting.signal);
      this.#turn = turn;
      this.finished();
      await this.#host.occupy(this);
      return true;
    } catch (thrown) {
      // biome-ignore lint/style/useErrorCause: the session is over, whatever failed because of it
      if (this.#closed) throw new SessionOver();
      if (this.#turn !== undefined) await this.#leave();
      this.#receiver.bytes(errorResponse(asServerError(thrown, waiting.signal.reason)));
      return false;
    } finally {
      clearTimeout(timer);
      this.#waiting = undefined;
    }
  }

  #limitMs(): number {
    const own = this.memory.statementTimeout;
    const limit = this.principal.timeoutSeconds * 1000;
    return own > 0 ? Math.min(own, limit) : limit;
  }

  async execute(messages: Buffer): Promise<Buffer> {
    if (this.#closed) throw new SessionOver();
    this.isIdle = false;
    return this.#limit.run(() => this.#host.database.execute(messages));
  }

  async emit(bytes: Buffer): Promise<void> {
    if (this.#closed) throw new SessionOver();
    if (bytes.length === 0 || this.#receiver.bytes(bytes)) return;
    const isHolding = this.#turn !== undefined;
    await new Promise<void>((resolve) => {
      const giveUp = (): void =>
        this.end("57P05", "terminating connection: it took nothing of its result for 10 s");
      const timer = isHolding ? setTimeout(giveUp, IDLE_MS) : undefined;
      this.#resumed = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#resumed = undefined;
    if (this.#closed) throw new SessionOver();
  }

  reasonToStop(): ServerError | undefined {
    return this.#limit.reasonToStop();
  }

  finished(): void {
    this.#limit.finished();
  }

  async becomeReader(): Promise<Buffer> {
    const role = quoteName(this.#host.roleOf(this));
    const statements = [...this.#ownStatements(), `set role ${role}`];
    const answer = await this.execute(query(statements.join("; ")));
    if (hasError(answer)) throw new Error("The role of a session on the copy is gone.");
    this.memory.loseUnnamed();
    return reportsOf(answer);
  }

  async setAgain(): Promise<void> {
    const answer = await this.execute(Buffer.concat(this.#ownStatements().map(runAside)));
    if (hasError(answer)) throw new Error("The settings of a session on the copy cannot be set.");
  }

  /** They set what a client's RESET ALL must not change. */
  #ownStatements(): readonly string[] {
    return [this.#host.timeSql(), ...this.memory.restoring];
  }
}

function asServerError(thrown: unknown, reason: unknown): ServerError {
  if (thrown === reason && reason !== undefined) return reason as ServerError;
  const text = thrown instanceof Error ? thrown.message : "The embedded copy failed.";
  const code = thrown instanceof TurnRefusal ? "53300" : "57P03";
  return { severity: "ERROR", code, message: text };
}
