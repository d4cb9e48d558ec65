import type { LimitStatus } from "../../core/limit-status.ts";

/**
 * The headers by which a family tells what is left of a key's limits; none for a limit that the key does not have.
 *
 * @param now Unix milliseconds.
 */
export type SayLimits = (status: LimitStatus, now: number) => Readonly<Record<string, string>>;
