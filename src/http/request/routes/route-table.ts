import { Hono } from "hono";
import { areaAt } from "./areas.ts";
import { RememberingRouter } from "./remembering-router.ts";
import type { AnyRouteDefinition, RequestEnvironment, Route, RouteProperties } from "./route.ts";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/**
 * All routes, with a single matcher, so that the properties found before routing are those of the route that is used.
 */
export interface RouteTable {
  readonly hono: Hono<RequestEnvironment>;
  /**
   * Returns the properties of a request. They are those of its route. If the path is served only by other methods, they
   * are those of one of these, but without a model call. Otherwise they are those of its area.
   *
   * @param path as the router reads it (`routedPath`).
   */
  readonly find: (method: string, path: string) => RouteProperties;
  /** Returns the methods that a path is served by. */
  readonly methodsAt: (path: string) => readonly string[];
}

export function createRouteTable(
  routes: readonly Pick<Route, "definition" | "handler">[],
): RouteTable {
  const hono = new Hono<RequestEnvironment>({
    router: new RememberingRouter(),
    getPath: (_, options) => environmentOf(options).path,
  });
  const known = new Map<unknown, RouteProperties>();
  for (const { definition, handler } of routes) {
    const method = definition.method.toUpperCase();
    known.set(handler, propertiesOf(definition, method));
    hono.on(method, patternOf(definition.path), handler);
  }
  const served = (method: string, path: string) =>
    known.get(hono.router.match(method, path)[0][0]?.[0][0]);
  const methodsAt = (path: string) => METHODS.filter((method) => served(method, path));
  return {
    hono,
    methodsAt,
    find(asked, path) {
      // The router does the same: a HEAD is answered by the GET route.
      const method = asked === "HEAD" ? "GET" : asked;
      const found = served(method, path);
      if (found !== undefined) return found;
      const [other] = methodsAt(path);
      const atPath = other === undefined ? undefined : served(other, path);
      return atPath === undefined ? areaAt(method, path) : { ...atPath, modelCall: false };
    },
  };
}

/** Returns the router's environment, which every request brings (`answer-request.ts`). */
function environmentOf(options: { env?: unknown } | undefined): RequestEnvironment["Bindings"] {
  return options?.env as RequestEnvironment["Bindings"];
}

function propertiesOf(definition: AnyRouteDefinition, method: string): RouteProperties {
  const area = areaAt(method, definition.path);
  return {
    licensed: definition.licensed ?? area.licensed,
    traced: definition.traced ?? area.traced,
    probe: definition.probe ?? area.probe,
    anyAddress: definition.anyAddress ?? area.anyAddress,
    ownOrigin: definition.ownOrigin ?? area.ownOrigin,
    modelCall: definition.modelCall ?? area.modelCall,
    encodedSlashes: definition.encodedSlashes ?? area.encodedSlashes,
    errorForm: definition.errorForm ?? area.errorForm,
    kind: definition.channel ?? (definition.probe === true ? "probe" : area.kind),
  };
}

/** `{model}` and `{rest}` take the rest of the path: model ids contain slashes. */
function patternOf(path: string): string {
  return path.replaceAll(/\{(model|rest)\}/g, ":$1{.+}").replaceAll(/\{(\w+)\}/g, ":$1");
}

/**
 * Returns a path as it is routed: decoded, except for separators and `%` itself, so that needlessly encoded paths are
 * found.
 *
 * @param path as received, without the query.
 */
export function routedPath(path: string): string {
  if (!path.includes("%")) return path;
  const text = path.replaceAll("%25", "%2525");
  return decoded(text) ?? text.replaceAll(/(?:%[0-9a-f]{2})+/gi, (part) => decoded(part) ?? part);
}

function decoded(text: string): string | undefined {
  try {
    return decodeURI(text);
  } catch {
    return undefined;
  }
}
