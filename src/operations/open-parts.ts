import type { Part } from "../core/part.ts";
import type { Db } from "../db/context.ts";

/**
 * The parts opened so far, and the order in which they are closed: the foundations one by one, the last one first, after
 * everything else. The others close at the same time, because a database that does not answer makes each of them wait.
 */
export class OpenParts {
  /** In the order of their opening; it grows while parts are opened. */
  readonly list: Part<Db>[] = [];
  readonly #foundations: Part<Db>[] = [];

  /** Adds a part that others need until they are closed. */
  addFoundation<Opened extends Part<Db>>(part: Opened): Opened {
    this.#foundations.push(part);
    return this.add(part);
  }

  add<Opened extends Part<Db>>(part: Opened): Opened {
    this.list.push(part);
    return part;
  }

  /** Closes every part, whatever the others do. Rejects with the first failure. */
  async close(limitMs: number): Promise<void> {
    const others = this.list.filter((part) => !this.#foundations.includes(part));
    const results = await Promise.allSettled(others.map((part) => part.close?.(limitMs)));
    for (const part of this.#foundations.toReversed())
      results.push(...(await Promise.allSettled([part.close?.(limitMs)])));
    const failure = results.find(({ status }) => status === "rejected");
    if (failure?.status === "rejected") throw failure.reason;
  }
}
