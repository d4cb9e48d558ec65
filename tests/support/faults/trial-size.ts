/**
 * How large a random trial is: the first size in `npm test`, the second one in the fault suite, with `--full` and
 * without it.
 */
export function trialSize<Size>(small: Size, large: Size): Size {
  // biome-ignore lint/style/noProcessEnv: the suite's own, not a setting of the program
  const { FAULT_REPORT, RELIABILITY_FULL } = process.env;
  return FAULT_REPORT !== undefined || RELIABILITY_FULL === "1" ? large : small;
}
