import type { Duplex } from "node:stream";
import type { Principal } from "../../principal.ts";
import type { Control } from "../control.ts";
import type { EngineSession, SessionReceiver } from "../engine.ts";
import type { CheckText } from "../gate/statement-gate.ts";
import { errorResponse } from "../protocol/backend-messages.ts";
import { message } from "../protocol/fields.ts";
import { MessageReader, ProtocolFault } from "../protocol/message-reader.ts";
import { AnswerStream } from "./answer-stream.ts";
import { Answers } from "./answers.ts";
import { REQUEST_TYPES, Requests } from "./requests.ts";
import {
  CANCEL_GRACE_MS,
  CLOSE_GRACE_MS,
  IDLE_IN_TRANSACTION_MS,
  IDLE_MS,
  MAX_ERROR_BYTES,
  MAX_EXPECTED,
  MAX_JOINED_BYTES,
  MAX_MESSAGE_BYTES,
  type SessionClock,
  TIMEOUT_GRACE_MS,
} from "./session-limits.ts";

export interface SessionServices {
  readonly check: CheckText;
  readonly control: Pick<Control, "statement" | "refused" | "log">;
  readonly clock: SessionClock;
}

/** A client that has logged in and has got ReadyForQuery. */
export interface SessionToServe {
  /** Paused, without a listener for data. Its errors are already listened for. */
  readonly client: Duplex;
  readonly principal: Principal;
  readonly engine: EngineSession;
  /** Names the receiver of the engine's bytes, once. What came before is held and handed over in this call. */
  readonly receive: (receiver: SessionReceiver) => void;
  /** What the client has sent after its password. */
  readonly leftover: Buffer;
}

export interface ServedSession {
  /** Resolves when the session is over, for whatever reason; also when the client is destroyed. */
  readonly done: Promise<void>;
  /** Cancels the statement in progress, if any. */
  readonly cancel: () => void;
  /** Writes a FATAL error at a message's border and closes the client. */
  readonly end: (code: string, message: string) => void;
}

/** Serves the statements of one client until it leaves. */
export type ServeSession = (session: SessionToServe) => ServedSession;

export function createServeSession(services: SessionServices): ServeSession {
  return (session) => {
    const served = new Session(services, session);
    return {
      done: served.serve(),
      cancel: () => served.cancel(),
      end: (code, text) => served.end(code, text),
    };
  };
}

class Session {
  readonly #services: SessionServices;
  readonly #session: SessionToServe;
  readonly #answers: Answers;
  readonly #requests: Requests;
  readonly #stream: AnswerStream;
  readonly #reader = new MessageReader(MAX_MESSAGE_BYTES, REQUEST_TYPES);
  /** Messages for the database that are sent in one write. */
  #joined: Buffer[] = [];
  #joinedBytes = 0;
  /** The client takes no more bytes for now. */
  #isStalled = false;
  /** Messages of the client are being handled. */
  #isBusy = true;
  #isEnding = false;
  #isClosed = false;
  #stopTimer: () => void = () => undefined;
  #fewer: (() => void) | undefined;

  constructor(services: SessionServices, session: SessionToServe) {
    this.#services = services;
    this.#session = session;
    const { principal, engine } = session;
    this.#answers = new Answers({
      rowLimit: principal.rowLimit,
      timeoutSeconds: principal.timeoutSeconds,
      now: services.clock.now,
      statement: (statement) => {
        const milliseconds = services.clock.now() - statement.startedAt;
        services.control.statement({
          principalId: principal.id,
          via: "port",
          milliseconds,
          ...statement,
        });
      },
      moved: () => this.#moved(),
      cut: () => engine.cancel(),
    });
    this.#stream = new AnswerStream(this.#answers, (bytes) => this.#write(bytes), {
      maxHeldBytes: MAX_ERROR_BYTES,
    });
    this.#requests = new Requests({
      engine,
      answers: this.#answers,
      check: services.check,
      timeoutSeconds: principal.timeoutSeconds,
      send: (bytes) => this.#join(bytes),
      failed: (thrown) =>
        services.control.log("error", "The gate failed on a statement.", { error: String(thrown) }),
    });
  }

  serve(): Promise<void> {
    const { client, engine, receive } = this.#session;
    const done = new Promise<void>((resolve) => {
      client.once("close", () => {
        this.#close();
        resolve();
      });
    });
    client.on("drain", () => {
      this.#isStalled = false;
      engine.resume();
    });
    receive({
      bytes: (bytes) => this.#take(bytes),
      ended: (code, text) => this.#ended(code, text),
    });
    void this.#readClient();
    // It may have left before.
    if (client.destroyed) this.#close();
    return client.closed ? Promise.resolve() : done;
  }

  cancel(): void {
    if (this.#answers.cancelling("client")) this.#session.engine.cancel();
  }

  end(code: string, text: string): void {
    if (this.#isEnding || this.#isClosed) return;
    this.#isEnding = true;
    const { client } = this.#session;
    this.#stopTimer();
    this.#stopTimer = this.#services.clock.after(CLOSE_GRACE_MS, () => this.#destroy());
    this.#stream.stopAtBorder(() => {
      if (this.#answers.hasFailed) client.end();
      else client.end(errorResponse({ severity: "FATAL", code, message: text }));
      this.#closeEngine(code);
    });
  }

  async #readClient(): Promise<void> {
    const { client, leftover } = this.#session;
    try {
      if (await this.#handle(leftover)) return this.#leave();
      for await (const chunk of client.iterator({ destroyOnReturn: false })) {
        if (this.#isEnding || this.#isClosed) return;
        if (await this.#handle(chunk as Buffer)) return this.#leave();
      }
      this.#destroy();
    } catch (thrown) {
      this.#fault(thrown, "The client broke the protocol.");
    }
  }

  /** Resolves with true when the client takes its leave. */
  async #handle(chunk: Buffer): Promise<boolean> {
    for (const { type, body } of this.#reader.read(chunk)) {
      this.#isBusy = true;
      if (await this.#requests.handle(type, body)) return true;
      if (this.#isEnding || this.#isClosed) return false;
      if (this.#answers.count >= MAX_EXPECTED) await this.#awaitAnswers();
      if (this.#joinedBytes >= MAX_JOINED_BYTES) await this.#flush();
    }
    await this.#flush();
    if (this.#isBusy) {
      this.#isBusy = false;
      this.#watch();
    }
    return false;
  }

  #join(bytes: Buffer): void {
    this.#joined.push(bytes);
    this.#joinedBytes += bytes.length;
  }

  async #flush(): Promise<void> {
    if (this.#joinedBytes === 0 || this.#isClosed) return;
    const bytes = Buffer.concat(this.#joined);
    this.#joined = [];
    this.#joinedBytes = 0;
    if (!this.#session.engine.send(bytes)) await this.#session.engine.drained();
  }

  /** The database may hold answers back until it is told to send them. */
  async #awaitAnswers(): Promise<void> {
    this.#join(message("H"));
    await this.#flush();
    while (this.#answers.count >= MAX_EXPECTED / 2 && !this.#isClosed) {
      await new Promise<void>((resolve) => {
        this.#fewer = resolve;
      });
    }
  }

  #take(bytes: Buffer): boolean {
    if (this.#isClosed) return true;
    try {
      this.#stream.take(bytes);
    } catch (thrown) {
      this.#fault(thrown, "The database broke the protocol.");
      return true;
    }
    return !this.#isStalled;
  }

  #write(bytes: Buffer): void {
    const { client } = this.#session;
    if (bytes.length === 0 || !client.writable) return;
    this.#isStalled = !client.write(bytes);
  }

  #moved(): void {
    this.#fewer?.();
    if (!this.#isEnding && !this.#isClosed) this.#watch();
  }

  /** Sets the timer for what is waited for: the answer in progress, or the client. */
  #watch(): void {
    this.#stopTimer();
    this.#stopTimer = () => undefined;
    const { clock } = this.#services;
    if (this.#answers.count > 0) {
      const limitMs = this.#session.principal.timeoutSeconds * 1000 + TIMEOUT_GRACE_MS;
      this.#stopTimer = clock.after(limitMs, () => this.#overtime());
    } else if (!this.#isBusy) {
      const isInTransaction = this.#answers.status !== "I" || this.#requests.isBeforeSync;
      this.#stopTimer = isInTransaction
        ? clock.after(IDLE_IN_TRANSACTION_MS, () =>
            this.end("25P03", "The connection was idle in a transaction for 60 seconds."),
          )
        : clock.after(IDLE_MS, () => this.end("57P05", "The connection was idle for an hour."));
    }
  }

  #overtime(): void {
    const { engine } = this.#session;
    this.#answers.cancelling("timeout");
    if (this.#isStalled) {
      // Rows wait for the client in front of any error.
      this.#answers.abandon("cut", "57014");
      this.#destroy();
      return;
    }
    // An answer may be complete and wait for a Sync that the client has not sent.
    engine.send(message("H"));
    engine.cancel();
    this.#stopTimer = this.#services.clock.after(CANCEL_GRACE_MS, () =>
      this.end("57014", "The statement took too long and did not end when it was cancelled."),
    );
  }

  #ended(code: string, text: string): void {
    if (this.#isClosed) return;
    this.#answers.abandon("error", code);
    if (this.#isEnding) this.#destroy();
    else this.end(code, text);
  }

  #fault(thrown: unknown, text: string): void {
    if (this.#isClosed || this.#isEnding) return;
    if (!(thrown instanceof ProtocolFault)) {
      // The client's stream failed, or this program did.
      this.#services.control.log("warn", text, { error: String(thrown) });
      this.#destroy();
      return;
    }
    this.#services.control.refused("08P01");
    this.end("08P01", thrown.message);
  }

  /** The client has said that it leaves: nobody reads what is still to come. */
  #leave(): void {
    this.#session.client.end();
    this.#close();
    this.#stopTimer = this.#services.clock.after(CLOSE_GRACE_MS, () => this.#destroy());
  }

  #destroy(): void {
    this.#close();
    this.#session.client.destroy();
  }

  #close(): void {
    this.#stopTimer();
    this.#closeEngine(null);
    this.#isClosed = true;
    this.#fewer?.();
  }

  #closeEngine(code: string | null): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { engine } = this.#session;
    if (this.#answers.count > 0) {
      this.#answers.abandon("cancelled", code);
      engine.cancel();
    }
    engine.close();
  }
}
