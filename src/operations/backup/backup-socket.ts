import { mkdtemp, readlink, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

const NAME = "backup.socket";
/** Systems limit a socket's path to 104 or 108 bytes. */
const PATH_MAX_BYTES = 100;

export interface SocketPlace {
  readonly path: string;
  /** To be called when no server listens there any more. Never rejects. */
  readonly remove: () => Promise<void>;
}

/**
 * Prepares the path where a server listens for backups. Under a DATA_DIR whose path is too long for a socket, a link in
 * it leads there.
 */
export async function makeSocketPlace(dataFolder: string): Promise<SocketPlace> {
  const wanted = join(resolve(dataFolder), NAME);
  // A killed server may have left its socket.
  await rm(wanted, { force: true });
  if (Buffer.byteLength(wanted) <= PATH_MAX_BYTES) {
    return { path: wanted, remove: () => rm(wanted, { force: true }).catch(() => undefined) };
  }
  const folder = await mkdtemp(join(tmpdir(), "inference-gateway-"));
  const path = join(folder, NAME);
  await symlink(path, wanted);
  return {
    path,
    async remove() {
      await rm(wanted, { force: true }).catch(() => undefined);
      await rm(folder, { recursive: true, force: true }).catch(() => undefined);
    },
  };
}

/** Returns the path where the command connects to the server. */
export async function findSocket(dataFolder: string): Promise<string> {
  const wanted = join(resolve(dataFolder), NAME);
  const target = await readlink(wanted).catch(() => undefined);
  return target === undefined ? wanted : resolve(dirname(wanted), target);
}
