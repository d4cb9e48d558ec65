import { serveOnBun } from "./serve-on-bun.ts";
import { serveOnNode } from "./serve-on-node.ts";
import type { ServeOptions, Server } from "./server.ts";

/** Listens with the server of the runtime that runs us. */
export function serve(options: ServeOptions): Promise<Server> {
  return "Bun" in globalThis ? serveOnBun(options) : serveOnNode(options);
}
