/** What an administrator is told of beside the license's end. None of it stops anything. */
export interface Circumstances {
  /** How many the drivers show. */
  readonly gpus: number;
  /** How many the license covers; null is any number. */
  readonly maxGpus: number | null;
  /** How far the system's clock is behind the time that counts. */
  readonly behindMs: number;
}

/** Less than this a clock may be behind without a word. */
const BEHIND_TOLERATED_MS = 3_600_000;

/** All there is to warn of in one text; null when there is nothing. */
export function joinWarnings(
  warning: string | null,
  { gpus, maxGpus, behindMs }: Circumstances,
): string | null {
  const warnings = warning === null ? [] : [warning];
  if (maxGpus !== null && gpus > maxGpus) {
    warnings.push(`The license covers ${maxGpus} GPUs, and ${gpus} were found.`);
  }
  if (behindMs > BEHIND_TOLERATED_MS) {
    warnings.push(
      "The system's clock is behind the latest time it has shown, which is what counts; set it right.",
    );
  }
  return warnings.length === 0 ? null : warnings.join(" ");
}
