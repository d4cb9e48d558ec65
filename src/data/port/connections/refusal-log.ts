import type { Control } from "../control.ts";
import type { ConnectionRefusal } from "./connection-refusal.ts";
import type { PortClock } from "./port-clock.ts";

const MINUTE_MS = 60_000;
/** Lines a minute, over all networks. */
const LINES_MAX = 60;

/**
 * Reports refused connections: each to the figures, and the first one of a network in a minute to the log. A minute's
 * last line has the number of what was left out.
 */
export class RefusalLog {
  readonly #control: Pick<Control, "log" | "refused">;
  readonly #clock: PortClock;
  readonly #logged = new Set<string>();
  #until = 0;
  #leftOut = 0;

  constructor(control: Pick<Control, "log" | "refused">, clock: PortClock) {
    this.#control = control;
    this.#clock = clock;
  }

  add(network: string, { code, message }: ConnectionRefusal): void {
    this.#control.refused(code);
    this.#beginMinute();
    if (this.#logged.has(network) || this.#logged.size >= LINES_MAX) {
      this.#leftOut += 1;
      return;
    }
    this.#logged.add(network);
    this.#control.log("warn", "a PostgreSQL client was refused", {
      address: network,
      code,
      reason: message,
    });
  }

  #beginMinute(): void {
    const now = this.#clock.now();
    if (now < this.#until) return;
    this.#until = now + MINUTE_MS;
    this.#logged.clear();
    if (this.#leftOut === 0) return;
    this.#control.log("warn", "more PostgreSQL clients were refused than logged", {
      count: this.#leftOut,
    });
    this.#leftOut = 0;
  }
}
