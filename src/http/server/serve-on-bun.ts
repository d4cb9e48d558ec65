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

/** The delay before a failed attempt to listen on the port is repeated. */
const LISTEN_AGAIN_MS = 200;

/**
 * Listens with `Bun.serve`. It closes a connection whose first headers do not arrive within ten seconds. It cannot
 * refuse connections except by closing the listener, so admitting them again means listening again.
 */
export async function serveOnBun(options: ServeOptions): Promise<Server> {
  const first = listen(options, options.port);
  const { port } = first;
  // Earlier servers no longer listen, but still serve their connections.
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
    // We enforce the body limits ourselves, so that errors have the family's form.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    development: false,
    // Otherwise, outside development, a second server would silently take half of this one's connections.
    reusePort: false,
    fetch: (request, bun) =>
      fetch(request, {
        host: request.headers.get("host"),
        path: pathOf(request.url),
        peer: () => bun.requestIP(request)?.address ?? null,
        allowSilence: () => {
          bun.timeout(request, 0);
          // The setting belongs to the connection, so that a connection left idle after the call would stay open
          // permanently.
          return () => bun.timeout(request, quietSeconds);
        },
      }),
  });
}

/** Returns the path of a URL, which is relative when the host is malformed. */
function pathOf(url: string): string {
  const start = url.startsWith("/") ? 0 : url.indexOf("/", url.indexOf("//") + 2);
  const query = url.indexOf("?", start);
  return query < 0 ? url.slice(start) : url.slice(start, query);
}
