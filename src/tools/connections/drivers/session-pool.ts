import { ServiceError } from "../../../core/service-error.ts";
import { untilAborted } from "../../../lib/until-aborted.ts";
import { DriverFault, type Session } from "./session.ts";

const WAITING_MAX = 32;
/** A session without work ends after this time. */
const IDLE_MS = 30_000;
/** For ending an abandoned query at the server; after it the session is closed. */
const CANCEL_MS = 5_000;
const RESET_MS = 5_000;

interface Idle {
  readonly session: Session;
  readonly timer: NodeJS.Timeout;
}

/** The sessions of one saved connection. They are opened when they are needed, and used again. */
export class SessionPool {
  readonly #open: (signal: AbortSignal) => Promise<Session>;
  readonly #idle: Idle[] = [];
  readonly #waiting = new Set<() => void>();
  readonly #busy = new Set<Session>();
  #places: number;
  #isClosed = false;

  /** @param places is the number of sessions at once; further queries wait. */
  constructor(places: number, open: (signal: AbortSignal) => Promise<Session>) {
    this.#places = places;
    this.#open = open;
  }

  /**
   * Runs work that only reads with a session. When the signal aborts it rejects at once, and the query is ended at the
   * server. Work may run a second time, when the server had closed an idle session.
   */
  async use<Result>(
    signal: AbortSignal,
    work: (session: Session) => Promise<Result>,
  ): Promise<Result> {
    const idle = await this.#enter(signal);
    if (idle === undefined) return this.#runWith(await this.#openOrLeave(signal), signal, work);
    try {
      return await this.#runWith(idle, signal, work);
    } catch (thrown) {
      if (
        signal.aborted ||
        idle.isUsable() ||
        (thrown instanceof DriverFault && thrown.reason !== "protocol")
      )
        throw thrown;
    }
    return this.use(signal, work);
  }

  /** Closes idle sessions now, and those in use after their query. */
  close(): void {
    this.#isClosed = true;
    for (const { session, timer } of this.#idle.splice(0)) {
      clearTimeout(timer);
      session.close();
    }
  }

  /** Closes everything now; queries in progress reject. */
  closeAll(): void {
    this.close();
    for (const session of this.#busy) session.close();
  }

  /** Resolves when there is a place, with an idle session if there is one. */
  async #enter(signal: AbortSignal): Promise<Session | undefined> {
    signal.throwIfAborted();
    if (this.#places > 0) this.#places -= 1;
    else await this.#turn(signal);
    for (let next = this.#idle.pop(); next !== undefined; next = this.#idle.pop()) {
      clearTimeout(next.timer);
      if (next.session.isUsable()) return next.session;
      next.session.close();
    }
    return undefined;
  }

  #turn(signal: AbortSignal): Promise<void> {
    if (this.#waiting.size >= WAITING_MAX) {
      throw new ServiceError(
        "overloaded",
        "Too many queries wait for this saved connection; try again later.",
      );
    }
    let enter: () => void = () => undefined;
    const turn = new Promise<void>((resolve) => {
      enter = resolve;
    });
    this.#waiting.add(enter);
    return untilAborted(turn, signal).catch((thrown: unknown) => {
      // The turn came in the same moment as the abort.
      if (!this.#waiting.delete(enter)) this.#leave();
      throw thrown;
    });
  }

  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#places += 1;
    else {
      this.#waiting.delete(next);
      next();
    }
  }

  async #openOrLeave(signal: AbortSignal): Promise<Session> {
    try {
      return await this.#open(signal);
    } catch (thrown) {
      this.#leave();
      throw thrown;
    }
  }

  async #runWith<Result>(
    session: Session,
    signal: AbortSignal,
    work: (session: Session) => Promise<Result>,
  ): Promise<Result> {
    this.#busy.add(session);
    const running = work(session);
    try {
      return await untilAborted(running, signal);
    } finally {
      void this.#finish(session, signal.aborted ? running : undefined);
    }
  }

  /** Keeps the place until the session is clean or closed. Never rejects. */
  async #finish(session: Session, abandoned: Promise<unknown> | undefined): Promise<void> {
    try {
      if (abandoned !== undefined) await endAtServer(session, abandoned);
      if (session.isUsable() && !this.#isClosed) {
        await untilAborted(session.reset(), AbortSignal.timeout(RESET_MS));
      }
    } catch {
      session.close();
    }
    this.#busy.delete(session);
    if (this.#isClosed || !session.isUsable()) session.close();
    else this.#keep(session);
    this.#leave();
  }

  #keep(session: Session): void {
    const end = () => {
      this.#idle.splice(
        this.#idle.findIndex((idle) => idle.session === session),
        1,
      );
      session.close();
    };
    this.#idle.push({ session, timer: setTimeout(end, IDLE_MS).unref() });
  }
}

async function endAtServer(session: Session, abandoned: Promise<unknown>): Promise<void> {
  const signal = AbortSignal.timeout(CANCEL_MS);
  const ended = abandoned.then(
    () => undefined,
    () => undefined,
  );
  await session.cancel(signal);
  await untilAborted(ended, signal);
}
