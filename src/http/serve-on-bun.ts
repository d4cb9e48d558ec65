import type { ServeOptions, Server } from "./server.ts";

/** The part of Bun's server that we use; its own types would replace Node's everywhere. */
interface BunServer {
  readonly port: number;
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

/** Listens with `Bun.serve`. */
export async function serveOnBun(options: ServeOptions): Promise<Server> {
  const { host, port, quietSeconds, fetch } = options;
  const server = Bun.serve({
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
        allowSilence: () => {
          bun.timeout(request, 0);
          // It holds for the connection, so that one left idle after the call would stay open for good.
          return () => bun.timeout(request, quietSeconds);
        },
      }),
  });
  return {
    port: server.port,
    stop: () => server.stop(false),
    close: () => void server.stop(true),
  };
}

/** The path of an absolute or, under a malformed host, relative URL. */
function pathOf(url: string): string {
  const start = url.startsWith("/") ? 0 : url.indexOf("/", url.indexOf("//") + 2);
  const query = url.indexOf("?", start);
  return query < 0 ? url.slice(start) : url.slice(start, query);
}
