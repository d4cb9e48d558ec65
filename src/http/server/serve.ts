import { StartRefusal } from "../../lib/folders/start-refusal.ts";
import { watchDescriptors } from "../../lib/process/watch-descriptors.ts";
import { serveOnBun } from "./serve-on-bun.ts";
import { serveOnNode } from "./serve-on-node.ts";
import type { ServeOptions, Server } from "./server.ts";

/** Listens with the server of the current runtime. Throws a `StartRefusal` when the address is not available. */
export async function serve(options: ServeOptions): Promise<Server> {
  try {
    const server = await ("Bun" in globalThis ? serveOnBun(options) : serveOnNode(options));
    return turningAway(server, options);
  } catch (thrown) {
    const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
    const { host, port } = options;
    throw new StartRefusal(
      `The server cannot listen on port ${port} of ${host}${code && ` (${code})`}. ` +
        "Is another program there, or is the address not this machine's? Set PORT or HOST.",
      { cause: thrown },
    );
  }
}

/**
 * Caps connections: while file descriptors are scarce no new connection is accepted, so that the open ones can be
 * served.
 */
function turningAway(server: Server, { onScarce }: ServeOptions): Server {
  const stopWatching = watchDescriptors((isScarce) => {
    server.admit(!isScarce);
    onScarce?.(isScarce);
  });
  return {
    ...server,
    stop() {
      stopWatching();
      return server.stop();
    },
  };
}
