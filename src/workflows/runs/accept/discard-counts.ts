import { zeroCounts } from "../../../lib/zero-counts.ts";
import { DISCARD_REASONS, type DiscardReason } from "../run.ts";

/** Discarded triggers of this process. */
export type DiscardCounts = Record<DiscardReason, number>;

export function createDiscardCounts(): DiscardCounts {
  return zeroCounts(DISCARD_REASONS);
}
