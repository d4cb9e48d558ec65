import { parseArgs } from "node:util";

export const USAGE = `Usage:
  test:faults [--seed N] [--full] [pattern…]
      Injects every fault of the suite into a running gateway and writes the results into docs/reliability.md.
      --seed N    a whole number, the seed of all random choices; 1 by default
      --full      runs only the cases with a full load, at that load: three quarters of an hour, on a quiet machine
      pattern     only test files whose path contains it, such as drain; the page is then not written`;

export type FaultOptions =
  | {
      readonly kind: "run";
      readonly seed: string;
      readonly isFull: boolean;
      readonly patterns: readonly string[];
    }
  | { readonly kind: "help" }
  | { readonly kind: "mistake"; readonly mistake: string };

/** Reads the command line. A mistake in it is reported before a run of several minutes begins. */
export function readOptions(args: readonly string[]): FaultOptions {
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(args);
  } catch (thrown) {
    return { kind: "mistake", mistake: thrown instanceof Error ? thrown.message : String(thrown) };
  }
  const { values, positionals } = parsed;
  if (values.help) return { kind: "help" };
  if (!/^\d{1,15}$/.test(values.seed)) {
    return { kind: "mistake", mistake: `--seed takes a whole number, not "${values.seed}".` };
  }
  return { kind: "run", seed: values.seed, isFull: values.full, patterns: positionals };
}

function parse(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    options: {
      seed: { type: "string", default: "1" },
      full: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
    allowPositionals: true,
  });
}
