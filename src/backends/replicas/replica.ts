import { Breaker } from "./breaker.ts";
import { hashText } from "./hash-text.ts";

/** One of several servers of the same models. */
export class Replica {
  /** Without a trailing slash. */
  readonly address: string;
  /** Its position in the operator's list, from 1. */
  readonly position: number;
  /** Derived from the address only, so that the order of the list does not move conversations. */
  readonly seed: number;
  readonly breaker = new Breaker();
  /** The number of calls in progress. */
  openCalls = 0;
  /** The names of its models; undefined until it has listed them. */
  models: ReadonlySet<string> | undefined;
  /** Milliseconds of the monotonic clock at the last change of its state; undefined before the first check. */
  changedAt: number | undefined;

  constructor(address: string, position: number) {
    this.address = address;
    this.position = position;
    this.seed = hashText(address);
  }

  get host(): string {
    return new URL(this.address).host;
  }
}
