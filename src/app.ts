import type { Deps } from "./deps.ts";
import { guardEdge } from "./http/edge-guard.ts";
import { chatErrorForm, errorResponse } from "./http/error-response.ts";
import { leavesBodyUnread } from "./http/leaves-body-unread.ts";
import { errorFormAt, isMessagesPath } from "./http/messages-path.ts";
import { createOpenApiDocument, registerSecuritySchemes } from "./http/openapi-document.ts";
import { createRouter } from "./http/router.ts";
import { chatCompletionsRoutes } from "./http/routes/chat-completions.ts";
import { docsRoutes } from "./http/routes/docs.ts";
import { embeddingsRoutes } from "./http/routes/embeddings.ts";
import { healthRoutes } from "./http/routes/health.ts";
import { helloRoutes } from "./http/routes/hello.ts";
import { messagesRoutes } from "./http/routes/messages.ts";
import { modelsRoutes } from "./http/routes/models.ts";
import { responsesRoutes } from "./http/routes/responses.ts";
import { transcriptionsRoutes } from "./http/routes/transcriptions.ts";
import type { ServeOptions } from "./http/server.ts";
import { refuseUnknownPath } from "./http/unknown-path.ts";

/** The whole URL space on one screen, behind the edge guard. */
export function createApp(deps: Deps): ServeOptions["fetch"] {
  const root = createRouter(chatErrorForm);
  registerSecuritySchemes(root);

  root.hono.route("/", chatCompletionsRoutes(deps).hono);
  root.hono.route("/", messagesRoutes(deps).hono);
  root.hono.route("/", responsesRoutes(deps).hono);
  root.hono.route("/", embeddingsRoutes(deps).hono);
  root.hono.route("/", transcriptionsRoutes(deps).hono);
  root.hono.route("/", modelsRoutes(deps).hono);
  root.hono.route("/", healthRoutes(deps).hono);
  root.hono.route("/", helloRoutes().hono);
  if (deps.settings.GATEWAY_DOCS_ENABLED) {
    root.hono.route("/", docsRoutes(createOpenApiDocument(root, deps.version)).hono);
  }
  root.hono.onError(root.refuse);
  root.hono.notFound((context) => refuseUnknownPath(root, context));

  const { clock, log, nextRequestId, settings } = deps;
  const stopping = deps.stopping.signal;
  return async (request, { host, path, allowSilence }) => {
    const arrivedAt = clock.now();
    const requestId = nextRequestId(arrivedAt);
    const refusal = guardEdge(host, path, settings.ALLOWED_HOSTS);
    const response =
      refusal === undefined
        ? await root.hono.fetch(request, { requestId, arrivedAt, allowSilence, log })
        : errorResponse(refusal, requestId, errorFormAt(path));
    const { headers } = response;
    headers.set("x-request-id", requestId);
    if (isMessagesPath(path)) headers.set("request-id", requestId);
    // What was refused at the edge may be followed by anything, and a body unread by all of its bytes.
    const isLast = refusal !== undefined || leavesBodyUnread(request) || stopping.aborted;
    if (isLast) headers.set("connection", "close");
    return response;
  };
}
