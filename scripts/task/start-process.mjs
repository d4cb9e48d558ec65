import { spawn } from "node:child_process";
import { constants } from "node:os";

/**
 * Starts a program. `group: "own"` shields it from the terminal's Ctrl-C, so that it gets each signal only once, from
 * this process. Returns the child and `ended`, its exit code: 128 + n if signal n ended it, 127 if it could not start.
 */
export function startProcess(
  { command, args },
  { env = {}, group = "shared", output = "inherit" } = {},
) {
  const own = group === "own";
  const child = spawn(command, args, {
    stdio: [own ? "ignore" : "inherit", output, "inherit"],
    detached: own,
    env: { ...process.env, ...env, TASK_PROCESS: String(process.pid) },
  });
  const ended = new Promise((resolve) => {
    child.once("error", (error) => {
      console.error(`${command}: ${error.message}`);
      resolve(127);
    });
    child.once("exit", (code, signal) => resolve(code ?? 128 + constants.signals[signal]));
  });
  return { child, ended };
}
