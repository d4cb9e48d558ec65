/** What is cleaned has become larger than it may be. */
export class TooLarge extends Error {}

export interface CleanLimits {
  /** About the bytes of what is copied, as JSON; texts count before they are cleaned. */
  readonly bytes: number;
  /** Schemas within schemas, each as often as references repeat it. */
  readonly nodes: number;
}

/** What may still be copied. Every copy is charged before it is made, so that no work is larger than its budget. */
export interface CleanBudget {
  /** Throws `TooLarge` when that much is not left. */
  readonly spend: (bytes: number, nodes?: number) => void;
  /** Throws `TooLarge` when so long a text is not left. */
  readonly spendText: (text: string) => void;
}

/** Creates a budget. What is spent of it is spent of the `whole`, too. */
export function createCleanBudget(limits: CleanLimits, whole?: CleanBudget): CleanBudget {
  let { bytes: bytesLeft, nodes: nodesLeft } = limits;
  const spend: CleanBudget["spend"] = (bytes, nodes = 0) => {
    bytesLeft -= bytes;
    nodesLeft -= nodes;
    if (bytesLeft < 0 || nodesLeft < 0) throw new TooLarge();
    whole?.spend(bytes, nodes);
  };
  return {
    spend,
    spendText(text) {
      // No character has fewer bytes than UTF-16 units, so a text that is too long is not even measured.
      if (text.length > bytesLeft) throw new TooLarge();
      spend(Buffer.byteLength(text) + 2);
    },
  };
}
