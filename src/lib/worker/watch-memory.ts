import { readFileSync } from "node:fs";

/** A process allocates about 50 MB in this time when it does nothing else. */
const LOOK_MS = 50;

/**
 * Calls `onExcess` once when the process holds more than `limitBytes` of memory. Where the system has no `/proc`, only
 * the limits of the runtime apply.
 * @returns the end of the watch
 */
export function watchMemory(pid: number, limitBytes: number, onExcess: () => void): () => void {
  const timer = setInterval(() => {
    if (residentBytes(pid) <= limitBytes) return;
    clearInterval(timer);
    onExcess();
  }, LOOK_MS).unref();
  return () => clearInterval(timer);
}

/** The resident memory of a process; 0 when it is not known. */
export function residentBytes(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "latin1");
    return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    // It has ended, or the system has no such folder.
    return 0;
  }
}
