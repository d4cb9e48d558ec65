import { Breaker } from "./breaker.ts";
import { hashText } from "./hash-text.ts";

/** One of several servers of the same models. */
export class Replica {
  /** Without a slash at the end. */
  readonly address: string;
  /** Where it stands in the operator's list, from 1. */
  readonly position: number;
  /** Made of the address alone: where a conversation belongs does not change with the order of the list. */
  readonly seed: number;
  readonly breaker = new Breaker();
  /** Calls that it has not finished. */
  openCalls = 0;
  /** The names of its models; undefined while it has not told them. */
  models: ReadonlySet<string> | undefined;

  constructor(address: string, position: number) {
    this.address = address;
    this.position = position;
    this.seed = hashText(address);
  }

  get host(): string {
    return new URL(this.address).host;
  }
}
