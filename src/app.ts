import type { Deps } from "./deps.ts";
import { chatErrorForm } from "./http/answers/error-response.ts";
import { chatCompletionsRoutes } from "./http/families/chat-completions.ts";
import { embeddingsRoutes } from "./http/families/embeddings.ts";
import { messagesRoutes } from "./http/families/messages.ts";
import { modelsRoutes } from "./http/families/models.ts";
import { responsesRoutes } from "./http/families/responses.ts";
import { transcriptionsRoutes } from "./http/families/transcriptions.ts";
import { docsRoutes } from "./http/openapi/docs.ts";
import { createOpenApiDocument, registerSecuritySchemes } from "./http/openapi/openapi-document.ts";
import { createAnswerRequest } from "./http/request/answer-request.ts";
import { createRouter } from "./http/request/router.ts";
import { refuseUnknownPath } from "./http/request/unknown-path.ts";
import { apiKeysRoutes } from "./http/resources/api-keys.ts";
import { auditRoutes } from "./http/resources/audit.ts";
import { authRoutes } from "./http/resources/auth.ts";
import { biKeysRoutes } from "./http/resources/bi-keys.ts";
import { eventsRoutes } from "./http/resources/events.ts";
import { licenseRoutes } from "./http/resources/license.ts";
import { requestsRoutes } from "./http/resources/requests.ts";
import { usageReportsRoutes } from "./http/resources/usage-reports.ts";
import { usersRoutes } from "./http/resources/users.ts";
import { createRequestsUnderWay, type RequestsUnderWay } from "./http/server/requests-under-way.ts";
import type { ServeOptions } from "./http/server/server.ts";
import { healthRoutes } from "./http/service/health.ts";
import { helloRoutes } from "./http/service/hello.ts";
import { metricsRoutes } from "./http/service/metrics.ts";

export interface App {
  readonly fetch: ServeOptions["fetch"];
  /** Everything that is served, as `:parameter` patterns. */
  readonly routes: readonly { readonly method: string; readonly path: string }[];
  readonly underWay: Pick<RequestsUnderWay, "count" | "none">;
}

/** The whole URL space on one screen, behind the edge guard and the license gate. */
export function createApp(deps: Deps): App {
  const root = createRouter(chatErrorForm, deps);
  registerSecuritySchemes(root);

  root.hono.route("/", chatCompletionsRoutes(deps).hono);
  root.hono.route("/", messagesRoutes(deps).hono);
  root.hono.route("/", responsesRoutes(deps).hono);
  root.hono.route("/", embeddingsRoutes(deps).hono);
  root.hono.route("/", transcriptionsRoutes(deps).hono);
  root.hono.route("/", modelsRoutes(deps).hono);
  root.hono.route("/", authRoutes(deps).hono);
  root.hono.route("/", usersRoutes(deps).hono);
  root.hono.route("/", apiKeysRoutes(deps).hono);
  root.hono.route("/", biKeysRoutes(deps).hono);
  root.hono.route("/", auditRoutes(deps).hono);
  root.hono.route("/", licenseRoutes(deps).hono);
  root.hono.route("/", usageReportsRoutes(deps).hono);
  root.hono.route("/", requestsRoutes(deps).hono);
  root.hono.route("/", eventsRoutes(deps).hono);
  root.hono.route("/", healthRoutes(deps).hono);
  root.hono.route("/", metricsRoutes(deps).hono);
  root.hono.route("/", helloRoutes(deps).hono);
  if (deps.settings.GATEWAY_DOCS_ENABLED) {
    root.hono.route("/", docsRoutes(deps, createOpenApiDocument(root, deps.version)).hono);
  }
  root.hono.onError(root.refuse);
  root.hono.notFound((context) => refuseUnknownPath(root, context));

  const underWay = createRequestsUnderWay();
  const fetch = createAnswerRequest(deps, root, underWay);
  return { fetch, routes: root.hono.routes, underWay };
}
