import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";

/** Open descriptors of a process, but for the embedded database's files; throws when it is gone. */
export function countDescriptors(pid: number): number {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).filter((name) => !isDatabaseFile(join(folder, name))).length;
}

function isDatabaseFile(descriptor: string): boolean {
  try {
    return readlinkSync(descriptor).includes("/database/");
  } catch {
    // It was closed meanwhile.
    return true;
  }
}

/** The paths of the files that a process has open; throws when it is gone. */
export function openPaths(pid: number): readonly string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).flatMap((name) => {
    try {
      return [readlinkSync(join(folder, name))];
    } catch {
      // It was closed meanwhile.
      return [];
    }
  });
}

/** What a process holds in memory; throws when it is gone. */
export function memoryMb(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kilobytes) / 1024;
}
