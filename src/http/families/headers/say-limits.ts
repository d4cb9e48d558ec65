import type { LimitStatus } from "../../../core/limit-status.ts";

/**
 * Builds the headers in which a family reports the remaining limits of a key. A limit that the key does not have gets
 * no header.
 *
 * @param now in Unix milliseconds.
 */
export type SayLimits = (status: LimitStatus, now: number) => Readonly<Record<string, string>>;
