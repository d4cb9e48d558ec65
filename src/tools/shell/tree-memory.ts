import { readdirSync, readFileSync } from "node:fs";

/** More processes than a sandbox may have, with those that start it. */
const MAX_PROCESSES = 80;

/** Returns the memory that a process and all below it hold for themselves or share among them, in bytes. */
export function treeMemory(pid: number): number {
  let bytes = 0;
  const pending = [pid];
  for (let count = 0; count < MAX_PROCESSES; count += 1) {
    const next = pending.pop();
    if (next === undefined) break;
    bytes += memoryOf(next);
    pending.push(...childrenOf(next));
  }
  return bytes;
}

function memoryOf(pid: number): number {
  const status = read(`/proc/${pid}/status`);
  return ["RssAnon", "RssShmem"].reduce((sum, name) => {
    const [, kilobytes] = new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status) ?? [];
    return sum + Number(kilobytes ?? 0) * 1024;
  }, 0);
}

function childrenOf(pid: number): readonly number[] {
  return tasksOf(pid).flatMap((task) =>
    read(`/proc/${pid}/task/${task}/children`)
      .split(" ")
      .filter((child) => child !== "")
      .map(Number),
  );
}

function tasksOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

/** Empty for a process that has ended. */
function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
