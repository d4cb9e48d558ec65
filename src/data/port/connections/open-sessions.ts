import { randomInt, timingSafeEqual } from "node:crypto";
import { int32 } from "../protocol/fields.ts";
import { ConnectionRefusal } from "./connection-refusal.ts";

/** A session that a principal has open. */
export interface OpenSession {
  readonly principalId: string;
  readonly cancel: () => void;
  readonly end: (code: string, message: string) => void;
}

/** What BackendKeyData gives to a client, to cancel with. */
export interface CancelKey {
  readonly processId: number;
  readonly secret: number;
}

/** A login in progress. It fails when its principal's connections are ended meanwhile. */
export interface LoginWatch {
  /** Throws a ConnectionRefusal when the principal's connections have been ended since the watch began. */
  readonly check: (principalId: string) => void;
  readonly stop: () => void;
}

const PROCESS_ID_MAX = 2 ** 31;
const SECRET_MAX = 2 ** 32;

/** The sessions that are open, by what cancels and what ends them. */
export class OpenSessions {
  readonly #sessions = new Map<number, OpenSession & CancelKey>();
  readonly #logins = new Set<(principalIds: readonly string[] | "all", reason: string) => void>();

  /** Makes a key that no open session has. It counts from `add` on. */
  createKey(): CancelKey {
    let processId = randomInt(1, PROCESS_ID_MAX);
    while (this.#sessions.has(processId)) processId = randomInt(1, PROCESS_ID_MAX);
    return { processId, secret: randomInt(SECRET_MAX) | 0 };
  }

  /** Adds a session, and returns what removes it. */
  add(key: CancelKey, session: OpenSession): () => void {
    this.#sessions.set(key.processId, { ...session, ...key });
    return () => this.#sessions.delete(key.processId);
  }

  /** Cancels the statement of the session that has this key; a wrong key does nothing. */
  cancel({ processId, secret }: CancelKey): void {
    const session = this.#sessions.get(processId);
    if (session === undefined) return;
    if (timingSafeEqual(int32(session.secret), int32(secret))) session.cancel();
  }

  /** Watches for `end` from before the principal is known, since an answer and an end may cross. */
  watchLogin(): LoginWatch {
    const ended = new Map<string, string>();
    let endOfAll: string | undefined;
    const note = (principalIds: readonly string[] | "all", reason: string): void => {
      if (principalIds === "all") endOfAll = reason;
      else for (const id of principalIds) ended.set(id, reason);
    };
    this.#logins.add(note);
    return {
      check: (principalId) => {
        const reason = endOfAll ?? ended.get(principalId);
        if (reason !== undefined) throw new ConnectionRefusal("57P01", reason);
      },
      stop: () => this.#logins.delete(note),
    };
  }

  /** Ends the sessions of these principals, or all. */
  end(principalIds: readonly string[] | "all", reason: string): void {
    for (const note of this.#logins) note(principalIds, reason);
    const ids = principalIds === "all" ? undefined : new Set(principalIds);
    for (const session of [...this.#sessions.values()]) {
      if (ids === undefined || ids.has(session.principalId)) session.end("57P01", reason);
    }
  }
}
