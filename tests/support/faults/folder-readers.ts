import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** The processes that look at a watched folder, of all servers or of one. */
export async function folderReaders(folder: string, serverId?: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)("ps", ["-eo", "pid=,ppid=,args="]);
  return stdout
    .split("\n")
    .filter((line) => line.includes("read-folder.mjs") && line.endsWith(folder))
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([, parent]) => serverId === undefined || parent === serverId)
    .map(([pid = 0]) => pid);
}
