/** How much a model should think. Unset means the model's default. */
export const EFFORTS = ["none", "low", "medium", "high", "max"] as const;
export type Effort = (typeof EFFORTS)[number];

/** Names of newer clients, folded into ours. */
const FOLDED: Readonly<Record<string, Effort>> = { minimal: "low", xhigh: "max" };

/** The effort that a client's word stands for, or undefined when it is none of the known words. */
export function parseEffort(word: unknown): Effort | undefined {
  if (typeof word !== "string") return undefined;
  return (
    EFFORTS.find((effort) => effort === word) ??
    (Object.hasOwn(FOLDED, word) ? FOLDED[word] : undefined)
  );
}
