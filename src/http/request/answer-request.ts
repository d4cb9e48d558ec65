import { ServiceError } from "../../core/service-error.ts";
import type { Deps } from "../../deps.ts";
import type { UsageRecord } from "../../usage/usage-record.ts";
import { errorResponse } from "../answers/error-response.ts";
import { guardCoding, guardEdge } from "../server/edge-guard.ts";
import { leavesBodyUnread } from "../server/leaves-body-unread.ts";
import type { RequestsUnderWay } from "../server/requests-under-way.ts";
import type { Connection, ServeOptions } from "../server/server.ts";
import { clientAddress } from "./client-address.ts";
import { createCors } from "./cors.ts";
import { isForwardedHttps } from "./is-forwarded-https.ts";
import { refuseUnlicensed } from "./license-gate.ts";
import { errorFormAt, isMessagesPath } from "./messages-path.ts";
import { isModelCall } from "./model-call-paths.ts";
import { isProbe } from "./probe-paths.ts";
import { RequestLine } from "./request-line.ts";
import type { RequestEnvironment, Router } from "./router.ts";
import { isTraced } from "./traced-paths.ts";

/**
 * What every request goes through, whatever it asks for: its id, its log line, the edge guard, the license gate, and
 * then the routes of `root`.
 */
export function createAnswerRequest(
  deps: Deps,
  { hono }: Pick<Router, "hono">,
  underWay: RequestsUnderWay,
): ServeOptions["fetch"] {
  const { callGate, figures, license, settings } = deps;
  const stopping = deps.stopping.signal;
  const cors = createCors(settings.CORS_ORIGINS);
  const refuseUnread = (error: ServiceError, request: Request, path: string) => {
    const requestId = deps.nextRequestId(deps.clock.now());
    const response = errorResponse(error, requestId, errorFormAt(path));
    finish(response, { license, path, requestId });
    cors?.allow(request, response);
    if (leavesBodyUnread(request)) response.headers.set("connection", "close");
    figures.requests.count(path, response.status, false);
    return response;
  };
  return async (request, connection) => {
    const { host, path } = connection;
    // What is refused has to cost next to nothing: it has no line of its own, and its key is not looked up.
    const overload = isModelCall(request.method, path) ? callGate.refusal() : undefined;
    if (overload !== undefined) {
      await callGate.turn();
      return refuseUnread(overload, request, path);
    }
    const environment = openRequest(deps, { request, connection, underWay });
    const { line, requestId } = environment;
    const refusal =
      guardEdge(host, path, settings.ALLOWED_HOSTS) ??
      guardCoding(connection.transferEncoding) ??
      (stopping.aborted && !isProbe(path) ? serverStops() : undefined);
    line.error = refusal;
    const response =
      refusal === undefined
        ? (cors?.preflight(request) ??
          refuseUnlicensed(license, request, { path, requestId }) ??
          (await hono.fetch(request, environment)))
        : errorResponse(refusal, requestId, errorFormAt(path));
    finish(response, { license, path, requestId });
    cors?.allow(request, response);
    // What was refused at the edge may be followed by anything, and a body unread by all of its bytes.
    const isLast = refusal !== undefined || leavesBodyUnread(request) || stopping.aborted;
    if (isLast) response.headers.set("connection", "close");
    const hasLeft = response.status >= 400 && request.signal.aborted;
    line.answered(response.status, hasLeft);
    figures.requests.count(path, response.status, hasLeft);
    return response;
  };
}

/** The headers that every response has. */
function finish(
  { headers }: Response,
  { license, path, requestId }: Pick<Deps, "license"> & Record<"path" | "requestId", string>,
): void {
  headers.set("x-request-id", requestId);
  if (isMessagesPath(path)) headers.set("request-id", requestId);
  const graceWarning = license.graceWarning();
  if (graceWarning !== undefined) headers.set("x-service-license-warning", graceWarning);
}

interface Arrival {
  readonly request: Request;
  readonly connection: Connection;
  readonly underWay: RequestsUnderWay;
}

/** Counts the request in until its line is written. */
function openRequest(
  deps: Deps,
  { request, connection, underWay }: Arrival,
): RequestEnvironment["Bindings"] {
  const { clock, log, nextRequestId, settings, tracing } = deps;
  const { path, peer, allowSilence } = connection;
  const { method, headers } = request;
  const arrivedAt = clock.now();
  const requestId = nextRequestId(arrivedAt);
  // The server forgets it when the client leaves, and the log line comes after.
  const client = clientAddress(peer(), headers.get("x-forwarded-for"), settings.TRUST_PROXY);
  const trace = isTraced(path)
    ? tracing?.begin({ method, headers, requestId, arrivedAt })
    : undefined;
  underWay.begin();
  const line = new RequestLine({ log, requestId, method, path, client }, (finished) => {
    underWay.end();
    trace?.end({ ...finished, endedAt: clock.now(), backend: backendOf(deps, finished.usage) });
  });
  return {
    requestId,
    arrivedAt,
    address: () => client,
    isHttps: () => isForwardedHttps(peer(), headers.get("x-forwarded-proto"), settings.TRUST_PROXY),
    allowSilence,
    log,
    line,
    trace: trace?.call,
  };
}

/** The backend of a call's model, for its span; undefined for the servers of their own that embed and transcribe. */
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

/** Said to whoever still comes: a balancer goes to another server, a client library tries again. */
function serverStops(): ServiceError {
  return new ServiceError("overloaded", "The server is stopping; send the request again.", {
    retryAfterSeconds: 1,
  });
}
