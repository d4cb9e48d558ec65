/** How much a model should think. Unset means the model's default. */
export const EFFORTS = ["none", "low", "medium", "high", "max"] as const;
export type Effort = (typeof EFFORTS)[number];

/** Names that newer clients use, mapped to ours. */
const FOLDED: Readonly<Record<string, Effort>> = { minimal: "low", xhigh: "max" };

/** Returns the effort that a client's word stands for, or undefined when the word is unknown. */
export function parseEffort(word: unknown): Effort | undefined {
  if (typeof word !== "string") return undefined;
  return (
    EFFORTS.find((effort) => effort === word) ??
    (Object.hasOwn(FOLDED, word) ? FOLDED[word] : undefined)
  );
}
