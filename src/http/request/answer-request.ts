import { ServiceError } from "../../core/service-error.ts";
import type { Deps } from "../../deps.ts";
import type { UsageRecord } from "../../usage/usage-record.ts";
import { type ErrorForm, errorResponse } from "../answers/error-response.ts";
import { guardCoding, guardEdge } from "../server/edge-guard.ts";
import { leavesBodyUnread } from "../server/leaves-body-unread.ts";
import type { RequestsUnderWay } from "../server/requests-under-way.ts";
import type { Connection, ServeOptions } from "../server/server.ts";
import { clientAddress } from "./client-address.ts";
import { createCors } from "./cors.ts";
import { foreignOrigin } from "./foreign-origin.ts";
import { isForwardedHttps } from "./is-forwarded-https.ts";
import { RequestLine } from "./request-line.ts";
import type { RequestEnvironment, RouteProperties } from "./routes/route.ts";
import { type RouteTable, routedPath } from "./routes/route-table.ts";

type Environment = RequestEnvironment["Bindings"];

/**
 * Creates the function that every request passes through. It assigns the id and the log line, applies the edge guard
 * and the license gate, and then calls the routes of `table`.
 */
export function createAnswerRequest(
  deps: Deps,
  table: RouteTable,
  underWay: RequestsUnderWay,
): ServeOptions["fetch"] {
  const { callGate, figures, license, settings } = deps;
  const stopping = deps.stopping.signal;
  const cors = createCors(settings.CORS_ORIGINS);
  const refuseUnread = (error: ServiceError, request: Request, route: RouteProperties) => {
    const requestId = deps.nextRequestId(deps.clock.now());
    const errorForm = formOf(route, request);
    const response = errorResponse(error, requestId, errorForm);
    finish(response, license, { errorForm, requestId });
    cors?.allow(request, response);
    if (leavesBodyUnread(request)) response.headers.set("connection", "close");
    figures.requests.count(route.kind, response.status, false);
    return response;
  };
  const refuseAtEdge = (connection: Connection, route: RouteProperties) =>
    guardEdge(connection.host, connection.path, route, settings.ALLOWED_HOSTS) ??
    guardCoding(connection.transferEncoding) ??
    (stopping.aborted && !route.probe ? serverStops() : undefined);
  const refuseForeign = (
    { ownOrigin }: RouteProperties,
    { headers }: Request,
    host: string | null,
  ) => (ownOrigin ? foreignOrigin(headers.get("origin"), host, settings.CORS_ORIGINS) : undefined);
  const refuseUnlicensed = ({ licensed }: RouteProperties) =>
    licensed && license.isInvalid() ? licenseExpired() : undefined;
  const answerRouted = (
    request: Request,
    { host }: Connection,
    route: RouteProperties,
    environment: Environment,
  ) => {
    const preflight = cors?.preflight(request);
    if (preflight !== undefined) return preflight;
    const refusal = refuseForeign(route, request, host) ?? refuseUnlicensed(route);
    const { errorForm, line, requestId } = environment;
    line.error = refusal;
    return refusal === undefined
      ? table.hono.fetch(request, environment)
      : errorResponse(refusal, requestId, errorForm);
  };
  return async (request, connection) => {
    const path = routedPath(connection.path);
    const route = table.find(request.method, path);
    // A refusal must cost almost nothing, so it has no log line of its own, and its key is not looked up.
    const overload = route.modelCall ? callGate.refusal() : undefined;
    if (overload !== undefined) {
      await callGate.turn();
      return refuseUnread(overload, request, route);
    }
    const environment = openRequest(deps, { request, connection, path, route, underWay });
    const { errorForm, line, requestId } = environment;
    const edgeRefusal = refuseAtEdge(connection, route);
    const start = edgeRefusal === undefined && route.modelCall ? callGate.start() : undefined;
    const refusal = edgeRefusal ?? (start && (await start));
    line.error = refusal;
    const response =
      refusal === undefined
        ? await answerRouted(request, connection, route, environment)
        : errorResponse(refusal, requestId, errorForm);
    finish(response, license, environment);
    cors?.allow(request, response);
    // A request that was refused at the edge may be followed by anything, and an unread body by all of its bytes.
    const isLast = refusal !== undefined || leavesBodyUnread(request) || stopping.aborted;
    if (isLast) response.headers.set("connection", "close");
    const hasLeft = response.status >= 400 && request.signal.aborted;
    line.answered(response.status, hasLeft);
    figures.requests.count(route.kind, response.status, hasLeft);
    return response;
  };
}

function formOf({ errorForm }: RouteProperties, request: Request): ErrorForm {
  return typeof errorForm === "function" ? errorForm(request) : errorForm;
}

/** Sets the headers that every response has. */
function finish(
  { headers }: Response,
  license: Deps["license"],
  { errorForm, requestId }: Pick<Environment, "errorForm" | "requestId">,
): void {
  headers.set("x-request-id", requestId);
  if (errorForm.requestIdHeader !== undefined) headers.set(errorForm.requestIdHeader, requestId);
  const graceWarning = license.graceWarning();
  if (graceWarning !== undefined) headers.set("x-service-license-warning", graceWarning);
}

interface Arrival {
  readonly request: Request;
  readonly connection: Connection;
  /** The path as it is routed. */
  readonly path: string;
  readonly route: RouteProperties;
  readonly underWay: RequestsUnderWay;
}

/** Counts the request as in progress until its line is written. */
function openRequest(
  deps: Deps,
  { request, connection, path, route, underWay }: Arrival,
): Environment {
  const { clock, log, nextRequestId, settings, tracing } = deps;
  const { peer, allowSilence } = connection;
  const { method, headers } = request;
  const arrivedAt = clock.now();
  const requestId = nextRequestId(arrivedAt);
  // The server forgets the address when the client disconnects, and the log line is written later.
  const client = clientAddress(peer(), headers.get("x-forwarded-for"), settings.TRUST_PROXY);
  const trace = route.traced
    ? tracing?.begin({ method, headers, requestId, arrivedAt })
    : undefined;
  underWay.begin();
  const arrival = { log, requestId, method, path: connection.path, client, isProbe: route.probe };
  const line = new RequestLine(arrival, (finished) => {
    underWay.end();
    trace?.end({ ...finished, endedAt: clock.now(), backend: backendOf(deps, finished.usage) });
  });
  return {
    requestId,
    arrivedAt,
    path,
    errorForm: formOf(route, request),
    address: () => client,
    isHttps: () => isForwardedHttps(peer(), headers.get("x-forwarded-proto"), settings.TRUST_PROXY),
    allowSilence,
    log,
    line,
    trace: trace?.call,
  };
}

/**
 * Returns the backend of a call's model, for its span. Returns undefined for the separate servers that embed and
 * transcribe.
 */
function backendOf(
  { gateway, settings }: Deps,
  usage: UsageRecord | undefined,
): string | undefined {
  if (usage === undefined) return undefined;
  const { LLM_BACKEND, EMBEDDING_BASE_URL, SPEECH_BASE_URL } = settings;
  if (usage.channel === "embeddings") return EMBEDDING_BASE_URL ? undefined : LLM_BACKEND;
  if (usage.channel === "audio") return SPEECH_BASE_URL ? undefined : LLM_BACKEND;
  return gateway.models.find(usage.model)?.backend.name;
}

/** After this error a load balancer uses another server, and a client library retries. */
function serverStops(): ServiceError {
  return new ServiceError("overloaded", "The server is stopping; send the request again.", {
    retryAfterSeconds: 1,
  });
}

/** Routes that need no license still work, so that an administrator can log in and upload one. */
function licenseExpired(): ServiceError {
  return new ServiceError(
    "license_expired",
    "The license, or the evaluation without one, has expired and its grace is over. " +
      "An administrator uploads a license with POST /api/license.",
  );
}
