/**
 * What remains of a key's limits after a call was admitted or refused. Each API family reports it in its own headers.
 */
export interface LimitStatus {
  /** The limit on calls with the least remaining. */
  readonly requests?: LimitMeter | undefined;
  /** The limit on tokens with the least remaining. */
  readonly tokens?: LimitMeter | undefined;
}

export interface LimitMeter {
  readonly limit: number;
  /** Never below 0. */
  readonly remaining: number;
  /** When the whole limit is available again, in Unix milliseconds; null means never. */
  readonly resetsAt: number | null;
}
