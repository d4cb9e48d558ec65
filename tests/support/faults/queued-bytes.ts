import { readFileSync } from "node:fs";

const ESTABLISHED = "01";

/** Bytes that the system holds, unsent or unread, for the connections of a port of IPv4 loopback: of both their ends. */
export function queuedBytes(port: number): number {
  let bytes = 0;
  for (const { isAt, isWith, queues } of establishedOf(port)) {
    if (!isAt && !isWith) continue;
    const [unsent = "0", unread = "0"] = queues.split(":");
    bytes += Number.parseInt(unsent, 16) + Number.parseInt(unread, 16);
  }
  return bytes;
}

/** Connections that clients have with a port of IPv4 loopback. */
export function countEstablished(port: number): number {
  return establishedOf(port).filter(({ isAt }) => isAt).length;
}

function establishedOf(port: number) {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const lines = readFileSync("/proc/net/tcp", "utf8").split("\n").slice(1);
  return lines.flatMap((line) => {
    const [, local = "", remote = "", state, queues = ""] = line.trim().split(/\s+/);
    if (state !== ESTABLISHED) return [];
    return [{ isAt: local.endsWith(suffix), isWith: remote.endsWith(suffix), queues }];
  });
}
