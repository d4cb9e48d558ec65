import { chmod, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeFolder } from "./make-folder.ts";

/** Systems truncate a socket's path at 104 or 108 bytes. */
const SOCKET_PATH_MAX_BYTES = 100;

/**
 * Creates a folder that only this user can enter, for a socket named `socket` that needs no password. A folder of the
 * system's for temporary files takes the place of one whose path is too long, or not given.
 */
export async function makeSocketFolder(wanted: string | undefined): Promise<string> {
  if (wanted === undefined || Buffer.byteLength(join(wanted, "socket")) > SOCKET_PATH_MAX_BYTES) {
    return mkdtemp(join(tmpdir(), "inference-gateway-"));
  }
  await makeFolder(wanted);
  await chmod(wanted, 0o700);
  return wanted;
}
