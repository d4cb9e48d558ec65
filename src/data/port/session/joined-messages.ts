import type { EngineSession } from "../engine.ts";
import { message } from "../protocol/fields.ts";
import type { Answers } from "./answers.ts";
import { MAX_EXPECTED, MAX_JOINED_BYTES } from "./session-limits.ts";

/** The messages for the database of one session. Those that come together are sent in one write. */
export class JoinedMessages {
  readonly #engine: EngineSession;
  readonly #answers: Pick<Answers, "count">;
  #joined: Buffer[] = [];
  #bytes = 0;
  #isClosed = false;
  #fewer: (() => void) | undefined;

  constructor(engine: EngineSession, answers: Pick<Answers, "count">) {
    this.#engine = engine;
    this.#answers = answers;
  }

  add(bytes: Buffer): void {
    this.#joined.push(bytes);
    this.#bytes += bytes.length;
  }

  /** Waits while too many answers are to come, and sends what is enough for one write. */
  async keepUp(): Promise<void> {
    if (this.#answers.count >= MAX_EXPECTED) await this.#awaitAnswers();
    if (this.#bytes >= MAX_JOINED_BYTES) await this.flush();
  }

  /** Sends all, and waits until the database takes more. */
  async flush(): Promise<void> {
    if (this.#bytes === 0 || this.#isClosed) return;
    const bytes = Buffer.concat(this.#joined);
    this.#joined = [];
    this.#bytes = 0;
    if (!this.#engine.send(bytes)) await this.#engine.drained();
  }

  /** To be called whenever an answer has ended. */
  answered(): void {
    this.#fewer?.();
  }

  /** Ends any wait for answers. */
  close(): void {
    this.#isClosed = true;
    this.#fewer?.();
  }

  /** The database may hold answers back until it is told to send them. */
  async #awaitAnswers(): Promise<void> {
    this.add(message("H"));
    await this.flush();
    while (this.#answers.count >= MAX_EXPECTED / 2 && !this.#isClosed) {
      await new Promise<void>((resolve) => {
        this.#fewer = resolve;
      });
    }
  }
}
