import { readdirSync, readFileSync } from "node:fs";

const SAMPLE_MS = 200;
/** `getconf CLK_TCK` on every Linux we know. */
const TICKS_PER_SECOND = 100;

/**
 * Sums the processor time, in seconds, of a process's children whose command line contains `name`, also of those that
 * have ended. The returned function ends the watch.
 */
export function watchChildren(parent: number, name: string): () => number {
  const before = new Map<string, number>();
  const seconds = new Map<string, number>();
  const look = () => {
    for (const pid of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
      const found = readChild(pid, parent, name);
      if (found !== undefined) seconds.set(pid, found);
    }
  };
  look();
  for (const [pid, found] of seconds) before.set(pid, found);
  const timer = setInterval(look, SAMPLE_MS);
  return () => {
    clearInterval(timer);
    look();
    return [...seconds].reduce((sum, [pid, found]) => sum + found - (before.get(pid) ?? 0), 0);
  };
}

function readChild(pid: string, parent: number, name: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    if (Number(stat[1]) !== parent) return undefined;
    if (!readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(name)) return undefined;
    return (Number(stat[11]) + Number(stat[12])) / TICKS_PER_SECOND;
  } catch {
    // It has ended in the meantime.
    return undefined;
  }
}
