import type { ServeOptions, Server } from "./server.ts";

/** The part of Bun's server that we use; its own types would replace Node's everywhere. */
interface BunServer {
  readonly port: number;
  readonly requestIP: (request: Request) => { readonly address: string } | null;
  readonly timeout: (request: Request, seconds: number) => void;
  readonly stop: (closeConnections?: boolean) => Promise<void>;
}
interface BunRuntime {
  readonly serve: (options: {
    readonly hostname: string;
    readonly port: number;
    readonly idleTimeout: number;
    readonly maxRequestBodySize: number;
    readonly development: boolean;
    readonly reusePort: boolean;
    readonly fetch: (request: Request, server: BunServer) => Response | Promise<Response>;
  }) => BunServer;
}

declare const Bun: BunRuntime;

/** How soon a port that could not be listened on again is tried once more. */
const LISTEN_AGAIN_MS = 200;

/**
 * Listens with `Bun.serve`. It closes a connection whose first headers are not there after ten seconds, and has no way
 * to turn connections away but to listen no more; so to admit them again is to listen anew.
 */
export async function serveOnBun(options: ServeOptions): Promise<Server> {
  const first = listen(options, options.port);
  const { port } = first;
  // Those before the last one listen no more but still serve the connections that they have.
  const servers = new Set([first]);
  let listening: BunServer | undefined = first;
  let mayListen = true;
  const listenAgain = () => {
    if (!mayListen || listening !== undefined) return;
    try {
      listening = listen(options, port);
      servers.add(listening);
    } catch {
      setTimeout(listenAgain, LISTEN_AGAIN_MS).unref();
    }
  };
  const listenNoMore = () => {
    const server = listening;
    listening = undefined;
    return server?.stop(false).finally(() => servers.delete(server));
  };
  return {
    port,
    async stop() {
      mayListen = false;
      void listenNoMore();
      await Promise.all([...servers].map((server) => server.stop(false)));
    },
    close() {
      for (const server of servers) void server.stop(true);
    },
    admit(newConnections) {
      mayListen = newConnections;
      if (newConnections) listenAgain();
      else void listenNoMore();
    },
  };
}

function listen({ host, quietSeconds, fetch }: ServeOptions, port: number): BunServer {
  return Bun.serve({
    hostname: host,
    port,
    idleTimeout: quietSeconds,
    // Body limits are ours: they answer in the family's form.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    development: false,
    // Else, outside development, a second server would silently take half of this one's connections.
    reusePort: false,
    fetch: (request, bun) =>
      fetch(request, {
        host: request.headers.get("host"),
        path: pathOf(request.url),
        peer: () => bun.requestIP(request)?.address ?? null,
        allowSilence: () => {
          bun.timeout(request, 0);
          // It holds for the connection, so that one left idle after the call would stay open for good.
          return () => bun.timeout(request, quietSeconds);
        },
      }),
  });
}

/** The path of an absolute or, under a malformed host, relative URL. */
function pathOf(url: string): string {
  const start = url.startsWith("/") ? 0 : url.indexOf("/", url.indexOf("//") + 2);
  const query = url.indexOf("?", start);
  return query < 0 ? url.slice(start) : url.slice(start, query);
}
