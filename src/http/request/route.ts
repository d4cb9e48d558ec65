import type { RouteConfig } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { AccessLevel } from "../../access/authenticate.ts";
import type { Channel } from "../../core/channel.ts";
import type { CallTrace } from "../../lib/call-trace.ts";
import type { Log } from "../../lib/log.ts";
import type { RequestKind } from "../../operations/metrics/request-figures.ts";
import type { ErrorForm } from "../answers/error-response.ts";
import type { RequestLine } from "./request-line.ts";

/** What has to be known of a request before anything of it but its first line is read. */
export interface RouteProperties {
  /** The license gate: refused once no license is in force. */
  readonly licensed: boolean;
  readonly traced: boolean;
  /** What monitors ask for again and again: served while the server stops, and logged at debug. */
  readonly probe: boolean;
  /** Served under an IP address too, whatever ALLOWED_HOSTS lists: a balancer knows no name. Nothing there is secret. */
  readonly anyAddress: boolean;
  /** Calls a model: refused under overload, before its key is looked up. */
  readonly modelCall: boolean;
  /** The end of the path may hold slashes, encoded or not. Elsewhere an encoded slash is refused. */
  readonly encodedSlashes: boolean;
  /** The form of its errors, or how the request decides it. */
  readonly errorForm: ErrorForm | ((request: Request) => ErrorForm);
  /** What its requests count as in the metrics, unless it has a channel or is a probe. */
  readonly kind: RequestKind;
}

/**
 * A route: its documentation, whose schemas are the source of the OpenAPI document, and its properties. Those that it
 * does not set are those of its area (`areas.ts`).
 */
export type RouteDefinition<Level extends AccessLevel = AccessLevel> = Omit<RouteConfig, "path"> &
  Partial<Omit<RouteProperties, "kind">> & {
    readonly path: string;
    /** Who may call. Nothing of the request but its headers is read before that is known. */
    readonly access: Level;
    /** The document that it stands in: of `/v1/*`, or of the console's routes; pages stand in none. */
    readonly audience: "public" | "console" | "unlisted";
    /** What its metered calls are counted as. */
    readonly channel?: Channel;
  };

/** What the server passes to every request beside the request itself. */
export interface RequestEnvironment {
  readonly Bindings: {
    readonly requestId: string;
    /** Unix milliseconds at arrival. */
    readonly arrivedAt: number;
    /** The path that is routed: without the query, and decoded where that changes no separator. */
    readonly path: string;
    /** The form of this request's errors. */
    readonly errorForm: ErrorForm;
    /** The client's address, IPv4 where IPv6 only wraps it; null when it is not known. */
    readonly address: () => string | null;
    /** The client came over TLS, as a trusted proxy reports; the server itself speaks none. */
    readonly isHttps: () => boolean;
    /** Lifts the server's own limit on quiet connections; what it returns brings it back. */
    readonly allowSilence: () => () => void;
    readonly log: Log;
    readonly line: RequestLine;
    /** For its calls to engines, where requests are traced. */
    readonly trace: CallTrace | undefined;
  };
}

export type RequestContext = Context<RequestEnvironment>;

/** A definition with the handler that authenticates, runs, and turns what is thrown into an answer. */
export interface Route {
  readonly definition: RouteDefinition;
  readonly handler: (context: RequestContext) => Promise<Response>;
}
