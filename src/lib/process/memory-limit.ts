import { readFileSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path";

/** The location of the control groups, and the file that names the process's own. */
export interface CgroupFiles {
  readonly root: string;
  /** `/proc/self/cgroup`. */
  readonly own: string;
}

const CGROUPS: CgroupFiles = { root: "/sys/fs/cgroup", own: "/proc/self/cgroup" };

/**
 * Returns the memory that the process may use, in bytes: the smallest limit of its control group and the groups above
 * it, or the machine's memory.
 */
export function memoryLimitBytes(files = CGROUPS): number {
  const limits = limitFiles(files).map(readLimit);
  return Math.min(totalmem(), ...limits.filter((limit) => limit !== undefined));
}

/** Lists the limit files of cgroup versions 2 and 1. Inside a container its own group appears as the root. */
function limitFiles({ root, own }: CgroupFiles): readonly string[] {
  return (readText(own) ?? "").split("\n").flatMap((line) => {
    const [, controllers = "", path = ""] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (controllers === "") return groupsTo(path).map((at) => join(root, at, "memory.max"));
    if (!controllers.split(",").includes("memory")) return [];
    return groupsTo(path).map((at) => join(root, "memory", at, "memory.limit_in_bytes"));
  });
}

/** Splits `/a/b` into `/`, `/a` and `/a/b`. */
function groupsTo(path: string): readonly string[] {
  const names = path.split("/").filter((name) => name !== "" && name !== "..");
  return ["/", ...names.map((_, index) => `/${names.slice(0, index + 1).join("/")}`)];
}

/** Returns undefined where the group sets no limit; version 2 then writes `max`. */
function readLimit(file: string): number | undefined {
  const limit = Number.parseInt(readText(file) ?? "", 10);
  return Number.isFinite(limit) && limit > 0 ? limit : undefined;
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

declare const Bun: { readonly gc: (force: boolean) => unknown } | undefined;

/** Makes Bun collect garbage now and return memory to the system. Node does so when memory runs short. */
export function freeMemory(): void {
  if (typeof Bun !== "undefined") Bun.gc(true);
}
