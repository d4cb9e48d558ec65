/** What tools may do, in words, from the least to the most. */
export const LEVELS = {
  read_only: "Read only",
  write: "Write",
  full_auto: "Everything, unasked",
} as const;

export const LEVEL_CHOICES = (["read_only", "write", "full_auto"] as const).map((value) => ({
  value,
  label: LEVELS[value],
}));
