import { execFile, spawn } from "node:child_process";
import { promisify } from "node:util";

export const hasPromtool = await promisify(execFile)("promtool", ["--version"]).then(
  () => true,
  () => false,
);

interface Finding {
  readonly code: number | null;
  readonly said: string;
}

/** Runs promtool with a text as its input. */
export function runPromtool(args: readonly string[], input = ""): Promise<Finding> {
  return new Promise((resolve, reject) => {
    const child = spawn("promtool", args);
    let said = "";
    child.stdout.on("data", (chunk) => (said += chunk));
    child.stderr.on("data", (chunk) => (said += chunk));
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, said: said.trim() }));
    child.stdin.end(input);
  });
}

/** What promtool says of all the text. */
export const lintMetrics = (text: string) => runPromtool(["check", "metrics"], text);
