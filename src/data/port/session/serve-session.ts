import { errorResponse } from "../protocol/backend-messages.ts";
import { message } from "../protocol/fields.ts";
import { MessageReader, ProtocolFault } from "../protocol/message-reader.ts";
import { AnswerStream } from "./answer-stream.ts";
import { Answers } from "./answers.ts";
import { JoinedMessages } from "./joined-messages.ts";
import { REQUEST_TYPES, Requests } from "./requests.ts";
import type { ServeSession, SessionServices, SessionToServe } from "./served-session.ts";
import {
  CANCEL_GRACE_MS,
  CLOSE_GRACE_MS,
  MAX_ERROR_BYTES,
  MAX_MESSAGE_BYTES,
} from "./session-limits.ts";
import { waitOf } from "./session-wait.ts";

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
  readonly #joined: JoinedMessages;
  /** The client takes no more bytes for now. */
  #isStalled = false;
  /** Messages of the client are being handled. */
  #isBusy = true;
  #isEnding = false;
  #isClosed = false;
  #stopTimer: () => void = () => undefined;

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
    this.#joined = new JoinedMessages(engine, this.#answers);
    this.#requests = new Requests({
      engine,
      answers: this.#answers,
      check: services.check,
      timeoutSeconds: principal.timeoutSeconds,
      send: (bytes) => this.#joined.add(bytes),
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
      began: () => this.#moved(),
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
      await this.#joined.keepUp();
    }
    await this.#joined.flush();
    if (this.#isBusy) {
      this.#isBusy = false;
      this.#watch();
    }
    return false;
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
    this.#joined.answered();
    if (this.#answers.count === 0) this.#session.engine.rest();
    if (!this.#isEnding && !this.#isClosed) this.#watch();
  }

  /** Sets the timer for what is waited for: the answer in progress, or the client. */
  #watch(): void {
    this.#stopTimer();
    this.#stopTimer = () => undefined;
    const { timeoutSeconds } = this.#session.principal;
    const wait = waitOf({
      ...{ answers: this.#answers, requests: this.#requests },
      ...{ isBusy: this.#isBusy, timeoutSeconds },
    });
    if (wait === undefined) return;
    const { limitMs, end } = wait;
    this.#stopTimer = this.#services.clock.after(limitMs, () =>
      end === null ? this.#overtime() : this.end(end.code, end.text),
    );
  }

  #overtime(): void {
    const { engine } = this.#session;
    this.#answers.cancelling(engine.isWaiting ? "wait" : "timeout");
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
    this.#joined.close();
  }

  #closeEngine(code: string | null): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#joined.close();
    const { engine } = this.#session;
    if (this.#answers.count > 0) {
      this.#answers.abandon("cancelled", code);
      engine.cancel();
    }
    engine.close();
  }
}
