import { type IncomingMessage, request } from "node:http";
import { BackupError } from "./backup-format.ts";
import { findSocket } from "./backup-socket.ts";

/** A command that requests a snapshot of a large database receives nothing for a while. */
const SILENCE_MS = 600_000;
const TEXT_MAX_BYTES = 64 * 1024;
const BROKEN_OFF =
  "The server broke the backup off: it stopped, or could not read its data. See its log, and run `backup` again.";

/**
 * Returns the compressed bytes of a backup made by the server on this DATA_DIR; undefined when no server runs there.
 */
export async function askServer(dataFolder: string): Promise<AsyncGenerator<Buffer> | undefined> {
  const response = await ask(await findSocket(dataFolder));
  if (response === undefined) return undefined;
  if (response.statusCode !== 200) throw new BackupError(await readText(response));
  return readBytes(response);
}

function ask(socketPath: string): Promise<IncomingMessage | undefined> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, path: "/", timeout: SILENCE_MS, agent: false });
    asked.once("response", resolve);
    asked.once("timeout", () => asked.destroy());
    asked.once("error", (thrown: NodeJS.ErrnoException) => {
      // The socket is missing, or a killed server has left it.
      if (thrown.code === "ENOENT" || thrown.code === "ECONNREFUSED") resolve(undefined);
      else reject(new BackupError(BROKEN_OFF, { cause: thrown }));
    });
    asked.end();
  });
}

/** Throws a BackupError when the answer ends before its last chunk. */
async function* readBytes(response: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    yield* response;
  } catch (thrown) {
    throw new BackupError(BROKEN_OFF, { cause: thrown });
  }
  if (!response.complete) throw new BackupError(BROKEN_OFF);
}

async function readText(response: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of readBytes(response)) {
    text += chunk.toString("utf8");
    if (text.length > TEXT_MAX_BYTES) break;
  }
  return text;
}
