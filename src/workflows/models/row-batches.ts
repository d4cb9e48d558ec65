/** An entry of a batch: a row's number and what it brings. */
export interface Batched<Item> {
  readonly number: number;
  readonly item: Item;
}

interface Waiting<Item, Result> extends Batched<Item> {
  readonly resolve: (result: Result) => void;
  readonly reject: (thrown: unknown) => void;
}

/** How long an incomplete batch waits for further rows. */
const QUIET_MS = 5;

/**
 * Joins rows that are worked on at the same time to batches, and gives each its own result. A batch is sent when it has
 * `size` rows, or when no further one has come for a moment.
 *
 * @param send returns one result an entry, in their order. Its failure is that of every row of the batch.
 */
export function joinRows<Item, Result>(
  size: number,
  send: (batch: readonly Batched<Item>[]) => Promise<readonly Result[]>,
): (entry: Batched<Item>) => Promise<Result> {
  let waiting: Waiting<Item, Result>[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    clearTimeout(timer);
    const batch = waiting.sort((one, other) => one.number - other.number);
    waiting = [];
    send(batch).then(
      (results) => {
        for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result);
      },
      (thrown) => {
        for (const { reject } of batch) reject(thrown);
      },
    );
  };
  return (entry) =>
    new Promise((resolve, reject) => {
      waiting.push({ ...entry, resolve, reject });
      if (waiting.length === size) {
        flush();
        return;
      }
      clearTimeout(timer);
      timer = setTimeout(flush, QUIET_MS);
    });
}
