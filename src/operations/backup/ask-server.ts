import { connect, type Socket } from "node:net";
import { readFrames } from "./backup-frames.ts";
import { findSocket } from "./backup-socket.ts";

/** What asks for a snapshot of a large database gets nothing for a while. */
const SILENCE_MS = 600_000;

/** The compressed bytes of a backup that the server on this DATA_DIR makes; undefined when none runs there. */
export async function askServer(dataFolder: string): Promise<AsyncGenerator<Buffer> | undefined> {
  const socket = await reach(await findSocket(dataFolder));
  if (socket === undefined) return undefined;
  socket.setTimeout(SILENCE_MS, () => socket.destroy());
  return readFrames(socket);
}

function reach(path: string): Promise<Socket | undefined> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once("connect", () => resolve(socket));
    socket.once("error", (thrown: NodeJS.ErrnoException) => {
      // Nothing there, or what a server left that was killed.
      if (thrown.code === "ENOENT" || thrown.code === "ECONNREFUSED") resolve(undefined);
      else reject(thrown);
    });
  });
}
