import type { CopyStates } from "./copy-messages.ts";

/** Up to when the views of the copy are brought, in Unix milliseconds. */
export class ViewTimes {
  readonly #times = new Map<string, number>();
  readonly #watchers = new Set<() => void>();

  get(view: string): number | undefined {
    return this.#times.get(view);
  }

  set(view: string, time: number): void {
    this.#times.set(view, time);
    for (const look of this.#watchers) look();
  }

  /**
   * Returns the time of the oldest of these views; undefined while the copy lacks one of them.
   * @param also views that count where the copy has them.
   */
  oldest(views: readonly string[], also: readonly string[] = []): number | undefined {
    const known = [...views, ...also].flatMap((view) => this.#times.get(view) ?? []);
    if (views.some((view) => !this.#times.has(view))) return undefined;
    return Math.min(...known);
  }

  /** Forgets the views that the copy does not have. */
  keepOnly(states: CopyStates): void {
    for (const view of this.#times.keys()) {
      if ((states[view] ?? null) === null) this.#times.delete(view);
    }
  }

  /** Resolves once the condition holds, which is asked whenever a view was brought, or the round is over. */
  async until(isMet: () => boolean, round: Promise<void>): Promise<void> {
    if (isMet()) return;
    let look = (): void => undefined;
    const met = new Promise<void>((resolve) => {
      look = () => {
        if (isMet()) resolve();
      };
    });
    this.#watchers.add(look);
    try {
      await Promise.race([met, round]);
    } finally {
      this.#watchers.delete(look);
    }
  }
}
