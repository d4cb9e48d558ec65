/** How clouds name the longest answer of a model when more is asked for. */
const OUTPUT_LIMITS: readonly RegExp[] = [
  /supports at most (\d+) completion tokens/i,
  /max_(?:completion_|output_)?tokens\W{0,3} (?:must be|is) less than or equal to `?(\d+)/i,
  /max_(?:completion_|output_)?tokens\b.{0,60}?(?:maximum|at most|<=) (?:value )?(?:of |is )?(\d+)/i,
];

/** The longest answer a model gives, read from a refusal of a longer one; undefined when it is about something else. */
export function readOutputLimit(message: string): number | undefined {
  for (const pattern of OUTPUT_LIMITS) {
    const digits = pattern.exec(message)?.[1];
    if (digits !== undefined) return Number(digits);
  }
  return undefined;
}
