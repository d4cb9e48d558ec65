import type { ProcessIdentity } from "./process-identity.ts";

/** Who holds a lock. */
export interface LockOwner extends ProcessIdentity {
  /** Unique to one acquisition. */
  readonly token: string;
}

/**
 * File systems keep the target of a symbolic link within the link's own entry up to this length (ext4 has the least
 * room), so that a lock can be taken on a disk without a free block.
 */
const TEXT_MAX = 59;

/** The owner as a lock's text. The name of the host comes last and may be cut: it is for people only. */
export function ownerText({ pid, startedAt, place, token, hostName }: LockOwner): string {
  return [pid, startedAt, place, token, hostName].join(":").slice(0, TEXT_MAX);
}

/** Reads what `ownerText` has written; undefined for any other text. */
export function parseOwner(text: string): LockOwner | undefined {
  const [, pid, startedAt = "", place = "", token = "", hostName = ""] =
    /^(\d+):(\d*):([^:]+):([^:]+):(.*)$/s.exec(text) ?? [];
  return pid === undefined ? undefined : { pid: Number(pid), startedAt, place, token, hostName };
}
