import type { FunctionCatalog } from "../../../lib/sql-gate/postgres/function-catalog.ts";
import { quoteName } from "../../copy/quote-sql.ts";
import type { Principal } from "../../principal.ts";
import type { EngineSession, SessionReceiver } from "../engine.ts";
import { errorResponse, readyForQuery, type ServerError } from "../protocol/backend-messages.ts";
import { FieldReader, message } from "../protocol/fields.ts";
import { query, readParse, sync } from "../protocol/frontend-messages.ts";
import { type Message, MessageReader } from "../protocol/message-reader.ts";
import { hasError, readStatus } from "./answers.ts";

import type { SessionHost } from "./session-host.ts";
import type { SessionMemory } from "./session-memory.ts";
import { refuseOnCopy } from "./split-query.ts";
import { fail, type Runner, runPortal, runText } from "./statement-run.ts";
import { type Turn, TurnRefusal } from "./turn-queue.ts";

/** More than a message of the port's clients has. */
const MESSAGE_MAX = 64 * 1024 * 1024;
const INPUT_MAX_BYTES = 1024 * 1024;
/** A client that holds the turn and neither sends nor takes anything for so long loses its session. */
const IDLE_MS = 10_000;
/** A statement that ends by itself soon after it should costs nothing. */
const GRACE_MS = 500;

export interface SessionOptions {
  readonly principal: Principal;
  readonly receiver: SessionReceiver;
  readonly parameters: ReadonlyMap<string, string>;
  readonly catalog: FunctionCatalog;
  readonly memory: SessionMemory;
}

class SessionOver extends Error {}

const cancelled = (message: string): ServerError => ({ severity: "ERROR", code: "57014", message });
const byUser = cancelled("canceling statement due to user request");
const byTime = cancelled("canceling statement due to statement timeout");
const byWait = cancelled(
  "canceling statement due to statement timeout: others used the embedded database all the time",
);

/** One client on the copy. Its messages run in turns: see `TurnQueue`. */
export class CopySession implements EngineSession, Runner {
  readonly parameters: ReadonlyMap<string, string>;
  readonly catalog: FunctionCatalog;
  readonly memory: SessionMemory;
  readonly principal: Principal;
  readonly #receiver: SessionReceiver;
  readonly #host: SessionHost;
  readonly #reader = new MessageReader(MESSAGE_MAX);
  readonly #input: Message[] = [];
  #inputBytes = 0;
  #drained: (() => void)[] = [];
  #resumed: (() => void) | undefined;
  #pumping = false;
  #closed = false;
  #turn: Turn | undefined;
  #waiting: AbortController | undefined;
  #isRunning = false;
  /** Everything up to Sync is skipped after an error. */
  #isSkipping = false;
  #stop: ServerError | undefined;
  #deadline: number | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(host: SessionHost, options: SessionOptions) {
    this.#host = host;
    this.principal = options.principal;
    this.#receiver = options.receiver;
    this.parameters = options.parameters;
    this.catalog = options.catalog;
    this.memory = options.memory;
  }

  send(messages: Buffer): boolean {
    clearTimeout(this.#idle);
    for (const { type, body } of this.#reader.read(messages)) {
      this.#input.push({ type, body: Buffer.from(body) });
      this.#inputBytes += body.length;
    }
    void this.#pump();
    return this.#inputBytes < INPUT_MAX_BYTES;
  }

  drained(): Promise<void> {
    if (this.#closed || this.#inputBytes < INPUT_MAX_BYTES) return Promise.resolve();
    return new Promise((resolve) => this.#drained.push(resolve));
  }

  resume(): void {
    this.#resumed?.();
  }

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
    if (this.#turn === undefined || this.#deadline === undefined) return;
    this.#stop = reason;
    this.#resumed?.();
    if (this.#isRunning) this.#costProcessAfter(GRACE_MS, reason);
  }

  /** What runs inside the database cannot be interrupted. */
  #costProcessAfter(ms: number, reason: ServerError): void {
    const deadline = this.#deadline;
    setTimeout(() => {
      if (this.#isRunning && this.#deadline === deadline) this.#host.exit(this, reason);
    }, ms);
  }

  async #pump(): Promise<void> {
    if (this.#pumping) return;
    this.#pumping = true;
    try {
      for (let next = this.#input.shift(); next !== undefined; next = this.#input.shift()) {
        if (this.#closed) break;
        this.#inputBytes -= next.body.length;
        if (this.#inputBytes < INPUT_MAX_BYTES) this.#wakeSender();
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
    if (this.#turn !== undefined) {
      this.#idle = setTimeout(() => {
        this.end("25P03", "terminating connection: it kept the embedded database waiting for 10 s");
      }, IDLE_MS);
    }
  }

  #wakeSender(): void {
    for (const wake of this.#drained.splice(0)) wake();
  }

  /** Gives the turn back, whatever was in progress. */
  async #leave(): Promise<void> {
    this.#input.length = 0;
    this.#inputBytes = 0;
    this.#wakeSender();
    const turn = this.#turn;
    if (turn === undefined) return;
    this.#turn = undefined;
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
    } else this.#isSkipping = !(await this.#pass(type, body));
  }

  #answerSync(): void {
    this.#isSkipping = false;
    this.#receiver.bytes(readyForQuery("I"));
  }

  /** Parse, Bind, Describe and Close. False after an error. */
  async #pass(type: string, body: Buffer): Promise<boolean> {
    const isParse = type === "P";
    const refusal = isParse ? await refuseOnCopy(readParse(body).sql) : undefined;
    if (refusal !== undefined) return fail(this, refusal);
    const recalled = isParse ? this.#recalledForParse(body) : this.#recalledFor(type, body);
    // Statements that cannot be recalled any more fail with the message that names them.
    if (recalled.length > 0) await this.execute(Buffer.concat(recalled));
    const answer = await this.execute(message(type, body));
    const isRefused = hasError(answer);
    if (isParse && !isRefused && !this.memory.keep(body)) {
      this.end("54000", "terminating connection: its prepared statements are too large together");
      throw new SessionOver();
    }
    await this.emit(answer);
    return !isRefused;
  }

  #recalledForParse(body: Buffer): Buffer[] {
    const { name, sql } = readParse(body);
    const sameName = name === "" ? [] : this.memory.recall(name);
    return [...sameName, ...this.memory.recallFor(sql)];
  }

  /** For Bind, Describe and Close. */
  #recalledFor(type: string, body: Buffer): Buffer[] {
    const fields = new FieldReader(body);
    // Bind begins with the name of its portal.
    const first = type === "B" ? fields.text() : fields.byte();
    if (type !== "B" && first !== "S") return [];
    const name = fields.text();
    if (type !== "C") return this.memory.recall(name);
    this.memory.forget(name);
    return [];
  }

  async #sync(): Promise<void> {
    const answer = await this.execute(sync());
    const status = readStatus(answer);
    if (status === undefined) throw new Error("The embedded copy answers no more.");
    this.#isSkipping = false;
    this.finished();
    if (status === "I") {
      await this.memory.read(this.#host.database);
      const turn = this.#turn;
      this.#turn = undefined;
      turn?.end();
    }
    await this.emit(answer);
  }

  /** Waits for the turn and sets the session up. False where an error went to the client instead. */
  async #begin(): Promise<boolean> {
    const waiting = new AbortController();
    this.#waiting = waiting;
    const timer = setTimeout(() => waiting.abort(byWait), this.#limitMs());
    try {
      const turn = await this.#host.queue.take(this.principal.id, waiting.signal);
      this.#turn = turn;
      this.#stop = undefined;
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
    this.#deadline ??= Date.now() + this.#limitMs();
    const left = Math.max(0, this.#deadline - Date.now());
    const overrun = setTimeout(() => this.#host.exit(this, byTime), left + GRACE_MS);
    this.#isRunning = true;
    try {
      return await this.#host.database.execute(messages);
    } finally {
      this.#isRunning = false;
      clearTimeout(overrun);
    }
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
    if (this.#stop !== undefined) return this.#stop;
    return this.#deadline !== undefined && Date.now() > this.#deadline ? byTime : undefined;
  }

  finished(): void {
    this.#deadline = undefined;
    this.#stop = undefined;
  }

  async becomeReader(): Promise<void> {
    const answer = await this.execute(query(`set role ${quoteName(this.#host.roleOf(this))}`));
    if (hasError(answer)) throw new Error("The role of a session on the copy is gone.");
  }
}

function asServerError(thrown: unknown, reason: unknown): ServerError {
  if (thrown === reason && reason !== undefined) return reason as ServerError;
  const text = thrown instanceof Error ? thrown.message : "The embedded copy failed.";
  const code = thrown instanceof TurnRefusal ? "53300" : "57P03";
  return { severity: "ERROR", code, message: text };
}
