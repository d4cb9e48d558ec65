import { spawn } from "node:child_process";

const VITEST = "node_modules/vitest/vitest.mjs";

export interface TestRun {
  /** Substrings of test file paths. */
  readonly patterns: readonly string[];
  /** A substring of test names; all tests by default. Tests then run one at a time. */
  readonly name?: string | undefined;
  readonly environment: Readonly<Record<string, string>>;
  /** The file for the JSON results. */
  readonly results: string;
}

/** Runs tests on the current runtime; resolves with the exit code. */
export function runTests({ patterns, name, environment, results }: TestRun): Promise<number> {
  const flags = process.versions["bun"] === undefined ? [] : ["--bun"];
  const reports = ["--reporter=default", "--reporter=json", `--outputFile.json=${results}`];
  const chosen = name === undefined ? [] : ["--testNamePattern", name, "--no-file-parallelism"];
  const args = [...flags, VITEST, "run", ...reports, ...chosen, ...patterns];
  const child = spawn(process.execPath, args, {
    stdio: "inherit",
    env: { ...process.env, ...environment },
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? 1));
  });
}
