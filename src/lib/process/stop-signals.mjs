// @ts-check
// Plain JavaScript, because tasks import it before there is a loader of TypeScript.
import { readFileSync } from "node:fs";

/** @typedef {"SIGTERM" | "SIGINT" | "SIGHUP"} StopSignal */

/** @type {readonly StopSignal[]} */
const ALWAYS = ["SIGTERM", "SIGINT"];

/**
 * The signals that ask this process to stop. A hang-up that is ignored when the process starts, as under `nohup`, is none:
 * a listener would end that. Node cannot leave it so, because it makes every signal's handling the default before it runs
 * a program.
 *
 * @type {readonly StopSignal[]}
 */
export const STOP_SIGNALS = isHangUpIgnored() ? ALWAYS : [...ALWAYS, "SIGHUP"];

function isHangUpIgnored() {
  try {
    const [, ignored] =
      /^SigIgn:\s*([\da-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
    // SIGHUP is signal 1, whose bit is the lowest.
    return Number.parseInt(ignored?.at(-1) ?? "0", 16) % 2 === 1;
  } catch {
    // Another system than Linux.
    return false;
  }
}
