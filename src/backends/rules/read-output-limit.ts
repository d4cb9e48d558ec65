/** How clouds report a model's output limit when more is requested. */
const OUTPUT_LIMITS: readonly RegExp[] = [
  /supports at most (\d+) completion tokens/i,
  /max_(?:completion_|output_)?tokens\W{0,3} (?:must be|is) less than or equal to `?(\d+)/i,
  /max_(?:completion_|output_)?tokens\b.{0,60}?(?:maximum|at most|<=) (?:value )?(?:of |is )?(\d+)/i,
];

/** Reads a model's output limit from the refusal of a longer one; undefined for any other refusal. */
export function readOutputLimit(message: string): number | undefined {
  for (const pattern of OUTPUT_LIMITS) {
    const digits = pattern.exec(message)?.[1];
    if (digits !== undefined) return Number(digits);
  }
  return undefined;
}
