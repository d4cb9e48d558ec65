import type { SentCall } from "./clients/load/steady-load.ts";
import type { StoredUsage } from "./stages/usage/stored-usage.ts";

export interface AnswersComparison {
  readonly requests: number;
  /** Answers received to their last byte. */
  readonly complete: number;
  /** Of those: without a row, without exactly one true row. */
  readonly lost: readonly string[];
  readonly wrong: readonly string[];
  /** Streams that the client itself left in the middle, and what their rows are wrong in. */
  readonly left: number;
  readonly leftWrong: readonly string[];
  /** Answers that were cut after their head had come, and those of them without a row. */
  readonly cut: number;
  readonly cutLost: readonly string[];
  /** Cut answers whose row says success: their end was recorded, their last bytes never left. */
  readonly cutAtTheLastByte: number;
  /** Rows of requests that the client never saw an answer of; and how many such requests there were. */
  readonly unseenRows: number;
  readonly unseenRequests: number;
  readonly rows: number;
}

/** What the clients received beside what the usage rows say. */
export function compareAnswers(
  sent: readonly SentCall[],
  rows: readonly StoredUsage[],
): AnswersComparison {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const rowOf = ({ id }: SentCall) => byId.get(id ?? "");
  const describe = (one: SentCall) => `${one.id} ${JSON.stringify(rowOf(one) ?? null)}`;
  const seen = sent.filter(({ id }) => id !== undefined);
  const complete = seen.filter(({ isComplete }) => isComplete);
  const left = seen.filter(({ leaves }) => leaves);
  const cut = seen.filter(({ isComplete, leaves }) => !isComplete && !leaves);
  const isTrue = (one: SentCall) => {
    const row = rowOf(one);
    return row?.outcome === "ok" && row.success && row.inputTokens === one.promptTokens;
  };
  const seenIds = new Set(seen.map(({ id }) => id));
  return {
    requests: sent.length,
    complete: complete.length,
    lost: complete.filter((one) => rowOf(one) === undefined).map(describe),
    wrong: complete.filter((one) => rowOf(one) !== undefined && !isTrue(one)).map(describe),
    left: left.length,
    leftWrong: left.filter((one) => rowOf(one)?.success !== false).map(describe),
    cut: cut.length,
    cutLost: cut.filter((one) => rowOf(one) === undefined).map(describe),
    cutAtTheLastByte: cut.filter((one) => rowOf(one)?.success === true).length,
    unseenRows: rows.filter(({ id }) => !seenIds.has(id)).length,
    unseenRequests: sent.length - seen.length,
    rows: rows.length,
  };
}
