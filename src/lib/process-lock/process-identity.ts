import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** What tells one process from every other, also after its number was given to another one. */
export interface ProcessIdentity {
  readonly pid: number;
  /** In the system's own unit, since boot; empty where the system does not tell. */
  readonly startedAt: string;
  /** Where process numbers mean the same: one boot of one machine, one container. Ten characters that stand for it. */
  readonly place: string;
  readonly hostName: string;
}

/** The identity of this process. */
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

/** True while that very process runs here. Only to be asked of a process of this place. */
export function isRunning({ pid, startedAt }: ProcessIdentity): boolean {
  try {
    process.kill(pid, 0);
  } catch (thrown) {
    // EPERM: it runs, as somebody else.
    if (!(thrown instanceof Error && "code" in thrown && thrown.code === "EPERM")) return false;
  }
  if (isDefunct(pid)) return false;
  const startedNow = startOf(pid);
  return startedAt === "" || startedNow === "" || startedAt === startedNow;
}

/** Killed, and only waiting for its parent to notice. */
function isDefunct(pid: number): boolean {
  return /^[ZX]/.test(statOf(pid)[0] ?? "");
}

function startOf(pid: number): string {
  return statOf(pid)[19] ?? "";
}

/** The third and later fields of the process's status; the second, its name in brackets, may hold anything. */
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
