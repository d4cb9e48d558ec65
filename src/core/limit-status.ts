/** What is left of a key's limits after a call was admitted or refused; each family tells it by headers of its own. */
export interface LimitStatus {
  /** Of the limits on calls the one with the least left. */
  readonly requests?: LimitMeter | undefined;
  /** Of the limits on tokens the one with the least left. */
  readonly tokens?: LimitMeter | undefined;
}

export interface LimitMeter {
  readonly limit: number;
  /** Never below 0. */
  readonly remaining: number;
  /** When all of it is there again, in Unix milliseconds; null: never. */
  readonly resetsAt: number | null;
}
