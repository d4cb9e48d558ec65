import type { EndedCall, RedisCounters } from "./redis-counters.ts";

/** Maximum of calls that ended while Redis was unavailable; further ones are corrected from the database, or expire. */
const UNSENT_MAX = 50_000;
const SENT_AT_ONCE = 200;

/** An ended call with its subjects. */
export interface KeyCall extends EndedCall {
  /** The key or the session's user, and the key's owner if the owner has limits. */
  readonly subjectIds: readonly string[];
  /** Called with the settled tokens of the call's month, unless the call had ended before. */
  readonly onSettled?: (monthTokens: number) => void;
  /** Called once, when Redis has received the end or never will. */
  readonly onOver?: (() => void) | undefined;
}

/** Sends the ends of calls, and retries while Redis is unavailable. Sending one twice does no harm. */
export class UnsentSettles {
  readonly #counters: RedisCounters;
  readonly #unsent = new Map<string, KeyCall>();
  readonly #sending = new Set<Promise<void>>();
  #isResending = false;

  constructor(counters: RedisCounters) {
    this.#counters = counters;
  }

  /** Never throws. */
  send(call: KeyCall): void {
    void this.#send(call);
  }

  /** Keeps the call for a later retry. */
  keep(call: KeyCall): void {
    if (this.#unsent.size < UNSENT_MAX) this.#unsent.set(call.id, call);
    else call.onOver?.();
  }

  /** Sends the kept calls after Redis has returned. */
  async resend(): Promise<void> {
    if (this.#isResending) return;
    this.#isResending = true;
    let failed = false;
    while (this.#unsent.size > 0 && !failed) {
      const batch = [...this.#unsent.values()].slice(0, SENT_AT_ONCE);
      for (const { id } of batch) this.#unsent.delete(id);
      const results = await Promise.all(batch.map((call) => this.#send(call)));
      failed = results.includes(false);
    }
    this.#isResending = false;
  }

  /** Resolves when everything that can be sent now is sent. Nothing is sent afterwards. */
  async finish(): Promise<void> {
    await this.resend();
    await Promise.all(this.#sending);
    for (const call of this.#unsent.values()) call.onOver?.();
    this.#unsent.clear();
  }

  /** Resolves with whether it arrived. */
  async #send(call: KeyCall): Promise<boolean> {
    const sending = this.#counters.settle(call.subjectIds, [call]).then(([monthTokens = -1]) => {
      if (monthTokens >= 0) call.onSettled?.(monthTokens);
      call.onOver?.();
    });
    const settled = sending.catch(() => undefined);
    this.#sending.add(settled);
    try {
      await sending;
      // Retries calls that Redis refused temporarily while it was up.
      if (this.#unsent.size > 0) void this.resend();
      return true;
    } catch {
      this.keep(call);
      return false;
    } finally {
      this.#sending.delete(settled);
    }
  }
}
