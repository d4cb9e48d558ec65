import type { Part } from "../core/part.ts";
import type { Db } from "../db/context.ts";

/** A failed start closes the parts that it has opened within about this time. */
const FAILED_START_MS = 3_000;

/** Resolves with the result of `open`. When that rejects, the parts that it has opened are closed first. */
export async function openParts<Opened>(
  open: (parts: OpenParts) => Promise<Opened>,
): Promise<Opened> {
  const parts = new OpenParts();
  try {
    return await open(parts);
  } catch (thrown) {
    await parts.close(FAILED_START_MS).catch(() => undefined);
    throw thrown;
  }
}

/**
 * The parts opened so far, and the order in which they are closed: the foundations one by one, the last one first,
 * after all others. The others close at the same time, because a database that does not answer makes each of them wait.
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

  /** Closes every part, even if others fail. Rejects with the first failure. */
  async close(limitMs: number): Promise<void> {
    const others = this.list.filter((part) => !this.#foundations.includes(part));
    const results = await Promise.allSettled(others.map((part) => part.close?.(limitMs)));
    for (const part of this.#foundations.toReversed())
      results.push(...(await Promise.allSettled([part.close?.(limitMs)])));
    const failure = results.find(({ status }) => status === "rejected");
    if (failure?.status === "rejected") throw failure.reason;
  }
}
