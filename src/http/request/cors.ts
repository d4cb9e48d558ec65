/** The seconds for which a browser may cache a preflight answer. */
const PREFLIGHT_SECONDS = 600;
const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE";

/** Lets pages of other origins read the answers. Cookies are never allowed: a page sends its key or token itself. */
export interface Cors {
  /** Returns the answer to a preflight request; undefined for any other request. */
  readonly preflight: (request: Request) => Response | undefined;
  /** Marks an answer as readable by the page, if its origin is listed. */
  readonly allow: (request: Request, response: Response) => void;
}

/**
 * Creates the rules for cross-origin requests. Returns undefined when there are no origins; then nothing is allowed.
 *
 * @param origins as `CORS_ORIGINS` lists them; `*` is any.
 */
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
