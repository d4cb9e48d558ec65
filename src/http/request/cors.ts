/** How long a browser may remember what it was allowed, in seconds. */
const PREFLIGHT_SECONDS = 600;
const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE";

/** Lets pages of other origins read the answers. Cookies are never allowed: a page sends its key or token itself. */
export interface Cors {
  /** The answer to a browser that asks before it sends; undefined for any other request. */
  readonly preflight: (request: Request) => Response | undefined;
  /** Marks an answer as one that the page may read, where its origin is listed. */
  readonly allow: (request: Request, response: Response) => void;
}

/** @param origins as `CORS_ORIGINS` lists them; `*` is any. Undefined when there are none: then nothing is allowed. */
export function createCors(origins: readonly string[]): Cors | undefined {
  if (origins.length === 0) return undefined;
  const isAny = origins.includes("*");
  const listed = new Set(origins);
  const allowed = ({ headers }: Request) => {
    const origin = headers.get("origin");
    return origin !== null && (isAny || listed.has(origin)) ? origin : undefined;
  };
  return {
    preflight(request) {
      const isAsked = request.headers.has("access-control-request-method");
      if (request.method !== "OPTIONS" || !isAsked || !allowed(request)) return undefined;
      const asked = request.headers.get("access-control-request-headers");
      return new Response(null, {
        status: 204,
        headers: {
          "access-control-allow-methods": METHODS,
          ...(asked !== null && { "access-control-allow-headers": asked }),
          "access-control-max-age": String(PREFLIGHT_SECONDS),
        },
      });
    },
    allow(request, { headers }) {
      headers.append("vary", "Origin");
      const origin = allowed(request);
      if (origin === undefined) return;
      headers.set("access-control-allow-origin", origin);
      headers.set("access-control-expose-headers", "*");
    },
  };
}
