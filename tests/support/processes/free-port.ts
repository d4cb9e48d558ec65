import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/** Below the ports that the kernel gives to connections and to `listen(0)`, and above those of common services. */
const FIRST = 11_000;
const LAST = 32_000;
const TRIES = 100;

/**
 * A port of loopback that nothing listened on a moment ago. A server may leave it and come back to it: no connection of
 * another test gets it meanwhile, as happens to ports that the kernel chooses.
 */
export async function freePort(): Promise<number> {
  for (let left = TRIES; left > 0; left -= 1) {
    const port = randomInt(FIRST, LAST);
    if (await isFree(port)) return port;
  }
  throw new Error("no port of the loopback is free");
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
