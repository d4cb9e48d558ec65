import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** Identifies one process uniquely, even after its process id is reused. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Start time since boot in the system's own unit; empty where the system does not report it. */
  readonly startedAt: string;
  /** A 10-character hash of the scope in which process ids are comparable: one boot of one machine, one container. */
  readonly place: string;
  readonly hostName: string;
}

/** Returns the identity of this process. */
export function thisProcess(): ProcessIdentity {
  const hostName = hostname();
  const boot = readOrEmpty(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
  const container = readOrEmpty(() => readlinkSync("/proc/self/ns/pid"));
  return {
    pid: process.pid,
    startedAt: startOf(process.pid),
    place: shortHash(`${hostName} ${boot} ${container}`),
    hostName,
  };
}

function shortHash(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 10);
}

/** Returns true while exactly this process runs. Call it only for a process of this `place`. */
export function isRunning({ pid, startedAt }: ProcessIdentity): boolean {
  try {
    process.kill(pid, 0);
  } catch (thrown) {
    // EPERM: it runs as another user.
    if (!(thrown instanceof Error && "code" in thrown && thrown.code === "EPERM")) return false;
  }
  if (isDefunct(pid)) return false;
  const startedNow = startOf(pid);
  return startedAt === "" || startedNow === "" || startedAt === startedNow;
}

/** Returns true for a killed process that its parent has not reaped yet. */
function isDefunct(pid: number): boolean {
  return /^[ZX]/.test(statOf(pid)[0] ?? "");
}

function startOf(pid: number): string {
  return statOf(pid)[19] ?? "";
}

/**
 * Returns the third and later fields of the process's status. The second field, its name in brackets, can contain
 * anything.
 */
function statOf(pid: number): readonly string[] {
  const stat = readOrEmpty(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

function readOrEmpty(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}
