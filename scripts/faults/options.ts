import { parseArgs } from "node:util";

export const USAGE = `Usage:
  test:faults [--seed N] [--full] [pattern…]
      Does to a running gateway all that a bad day may bring, and writes what came of it into docs/reliability.md.
      --seed N    a whole number that what is left to chance is drawn from; 1 unless given
      --full      instead, the cases that have a full load of their own, at that: three quarters of an hour, on a quiet
                  machine
      pattern     only test files whose path has it, such as drain; the page stays as it is then`;

export type FaultOptions =
  | {
      readonly kind: "run";
      readonly seed: string;
      readonly isFull: boolean;
      readonly patterns: readonly string[];
    }
  | { readonly kind: "help" }
  | { readonly kind: "mistake"; readonly mistake: string };

/** Reads the command line. A mistake in it must not begin a run of minutes that nobody asked for. */
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
