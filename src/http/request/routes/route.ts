import type { RouteConfig } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { AccessLevel } from "../../../access/authenticate.ts";
import type { NeededScope } from "../../../core/callers/service-scope.ts";
import type { Channel } from "../../../core/channel.ts";
import type { CallTrace } from "../../../lib/call-trace.ts";
import type { Log } from "../../../lib/log.ts";
import type { RequestKind } from "../../../operations/metrics/request-figures.ts";
import type { ErrorForm } from "../../answers/error-response.ts";
import type { RequestLine } from "../request-line.ts";

/** The properties that must be known before more than the first line of a request is read. */
export interface RouteProperties {
  /** True for routes that are refused when no license is in force. */
  readonly licensed: boolean;
  readonly traced: boolean;
  /** True for routes that monitors poll: they are served while the server stops, and logged at debug. */
  readonly probe: boolean;
  /**
   * True for routes that are also served under an IP address, whatever ALLOWED_HOSTS lists, because a load balancer
   * knows no name. They expose no secrets.
   */
  readonly anyAddress: boolean;
  /** True for routes that pages of other sites may call only if CORS_ORIGINS lists them. */
  readonly ownOrigin: boolean;
  /** True for routes that call a model: under overload they are refused before their key is looked up. */
  readonly modelCall: boolean;
  /** True when the end of the path may contain slashes, encoded or not. Elsewhere an encoded slash is refused. */
  readonly encodedSlashes: boolean;
  /** The form of its errors, or a function that chooses it by the request. */
  readonly errorForm: ErrorForm | ((request: Request) => ErrorForm);
  /** The kind of its requests in the metrics, unless it has a channel or is a probe. */
  readonly kind: RequestKind;
}

/** The resource that a service token's scope must name, or the scope; `closed` where no token may call. */
export type TokenAccess = NeededScope | "closed";

/**
 * A route: its documentation, whose schemas are the source of the OpenAPI document, and its properties. Properties that
 * it does not set are those of its area (`areas.ts`).
 */
export type RouteDefinition<
  Level extends AccessLevel = AccessLevel,
  Tokens extends TokenAccess = "closed",
> = Omit<RouteConfig, "path"> &
  Partial<Omit<RouteProperties, "kind">> & {
    readonly path: string;
    /** The callers that are allowed. Only the headers of a request are read before its caller is known. */
    readonly access: Level;
    /** Which service tokens may call it: those with the scope to read or change this resource; none unless set. */
    readonly tokens?: Tokens;
    /** The document that lists the route: that of `/v1/*` or that of the console's routes. Pages are in neither. */
    readonly audience: "public" | "console" | "unlisted";
    /** The channel of its metered calls. */
    readonly channel?: Channel;
  };

/** A route of any level, whichever service tokens may call it. */
export type AnyRouteDefinition = RouteDefinition<AccessLevel, TokenAccess>;

/** The values that the server passes with every request. */
export interface RequestEnvironment {
  readonly Bindings: {
    readonly requestId: string;
    /** Unix milliseconds at arrival. */
    readonly arrivedAt: number;
    /** The path that is routed: without the query, and decoded unless that would change a separator. */
    readonly path: string;
    /** The form of this request's errors. */
    readonly errorForm: ErrorForm;
    /** Returns the client's address, as IPv4 when it is an IPv4-mapped IPv6 address; null when it is not known. */
    readonly address: () => string | null;
    /** Returns true when the client used TLS, as a trusted proxy reports; the server itself has no TLS. */
    readonly isHttps: () => boolean;
    /** Lifts the server's own limit on quiet connections. Returns a function that restores it. */
    readonly allowSilence: () => () => void;
    readonly log: Log;
    readonly line: RequestLine;
    /** The trace for the request's calls to engines, if requests are traced. */
    readonly trace: CallTrace | undefined;
  };
}

export type RequestContext = Context<RequestEnvironment>;

/** A definition with its handler, which authenticates, runs, and turns errors into answers. */
export interface Route {
  readonly definition: AnyRouteDefinition;
  readonly handler: (context: RequestContext) => Promise<Response>;
  /** Returns the same route at another path, for sessions alone. Its level must be one that sessions may call. */
  readonly forSession: (definition: RouteDefinition<"session">) => Route;
}
