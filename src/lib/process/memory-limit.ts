import { readFileSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path";

/** Where the kernel shows control groups, and which of them the process is in. */
export interface CgroupFiles {
  readonly root: string;
  /** `/proc/self/cgroup`. */
  readonly own: string;
}

const CGROUPS: CgroupFiles = { root: "/sys/fs/cgroup", own: "/proc/self/cgroup" };

/** What the process may use, in bytes: the least that its control group or one above allows, else the machine's memory. */
export function memoryLimitBytes(files = CGROUPS): number {
  const limits = limitFiles(files).map(readLimit);
  return Math.min(totalmem(), ...limits.filter((limit) => limit !== undefined));
}

/** The files of version 2 and of version 1. Inside a container its own group is shown as the root. */
function limitFiles({ root, own }: CgroupFiles): readonly string[] {
  return (readText(own) ?? "").split("\n").flatMap((line) => {
    const [, controllers = "", path = ""] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (controllers === "") return groupsTo(path).map((at) => join(root, at, "memory.max"));
    if (!controllers.split(",").includes("memory")) return [];
    return groupsTo(path).map((at) => join(root, "memory", at, "memory.limit_in_bytes"));
  });
}

/** `/a/b` as `/`, `/a` and `/a/b`. */
function groupsTo(path: string): readonly string[] {
  const names = path.split("/").filter((name) => name !== "" && name !== "..");
  return ["/", ...names.map((_, index) => `/${names.slice(0, index + 1).join("/")}`)];
}

/** Undefined where the group sets none: version 2 says `max`. */
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

/** Has Bun collect its garbage now and give the memory back; Node does so when it runs short. */
export function freeMemory(): void {
  if (typeof Bun !== "undefined") Bun.gc(true);
}
