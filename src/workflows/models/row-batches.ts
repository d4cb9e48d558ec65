import type { RowItem } from "./each-row.ts";

/** A row of a batch, with whatever it brings. */
export type BatchedRow = Pick<RowItem, "number" | "signal" | "repeat">;

interface Waiting<Entry, Result> {
  readonly entry: Entry;
  readonly resolve: (result: Result) => void;
  readonly reject: (thrown: unknown) => void;
}

/** How long an incomplete batch waits for further rows. */
const QUIET_MS = 5;

/**
 * Joins rows that are worked on at the same time to batches, and gives each its own result. A batch is sent when it has
 * `size` rows, or when no further one has come for a moment. It stays together when it is repeated: rows that went on
 * by themselves would meet in other batches, and a receiver could not tell that it knows them.
 *
 * @param send returns one result an entry, in their order. Its failure is that of every row of the batch. The signal
 * aborts when the step's rows are given up.
 */
export function joinRows<Entry extends BatchedRow, Result>(
  size: number,
  send: (entries: readonly Entry[], signal: AbortSignal) => Promise<readonly Result[]>,
): (entry: Entry) => Promise<Result> {
  let waiting: Waiting<Entry, Result>[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    clearTimeout(timer);
    const batch = waiting.sort((one, other) => one.entry.number - other.entry.number);
    waiting = [];
    const entries = batch.map(({ entry }) => entry);
    const [first] = entries;
    if (first === undefined) return;
    // The rows of one step have their signal and their repetitions in common.
    first
      .repeat(() => send(entries, first.signal))
      .then(
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
      waiting.push({ entry, resolve, reject });
      if (waiting.length === size) {
        flush();
        return;
      }
      clearTimeout(timer);
      timer = setTimeout(flush, QUIET_MS);
    });
}
