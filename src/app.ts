import type { Deps } from "./deps.ts";
import { createAnswerRequest } from "./http/answer-request.ts";
import { chatErrorForm } from "./http/answers/error-response.ts";
import {
  createOpenApiDocument,
  registerSecuritySchemes,
} from "./http/documentation/openapi-document.ts";
import { createRouter } from "./http/router.ts";
import { apiKeysRoutes } from "./http/routes/api-keys.ts";
import { auditRoutes } from "./http/routes/audit.ts";
import { authRoutes } from "./http/routes/auth.ts";
import { biKeysRoutes } from "./http/routes/bi-keys.ts";
import { chatCompletionsRoutes } from "./http/routes/chat-completions.ts";
import { docsRoutes } from "./http/routes/docs.ts";
import { embeddingsRoutes } from "./http/routes/embeddings.ts";
import { eventsRoutes } from "./http/routes/events.ts";
import { healthRoutes } from "./http/routes/health.ts";
import { helloRoutes } from "./http/routes/hello.ts";
import { licenseRoutes } from "./http/routes/license.ts";
import { messagesRoutes } from "./http/routes/messages.ts";
import { metricsRoutes } from "./http/routes/metrics.ts";
import { modelsRoutes } from "./http/routes/models.ts";
import { requestsRoutes } from "./http/routes/requests.ts";
import { responsesRoutes } from "./http/routes/responses.ts";
import { transcriptionsRoutes } from "./http/routes/transcriptions.ts";
import { usageReportsRoutes } from "./http/routes/usage-reports.ts";
import { usersRoutes } from "./http/routes/users.ts";
import {
  createRequestsUnderWay,
  type RequestsUnderWay,
} from "./http/serving/requests-under-way.ts";
import type { ServeOptions } from "./http/serving/server.ts";
import { refuseUnknownPath } from "./http/unknown-path.ts";

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
