import type { Deps } from "./deps.ts";
import { consoleRoutes } from "./http/console.ts";
import { chatCompletionsRoutes } from "./http/families/chat-completions.ts";
import { embeddingsRoutes } from "./http/families/embeddings.ts";
import { mcpRoutes } from "./http/families/mcp.ts";
import { messagesRoutes } from "./http/families/messages.ts";
import { modelsRoutes } from "./http/families/models.ts";
import { responsesRoutes } from "./http/families/responses.ts";
import { transcriptionsRoutes } from "./http/families/transcriptions.ts";
import { docsRoutes } from "./http/openapi/docs.ts";
import { createAnswerRequest } from "./http/request/answer-request.ts";
import type { AnyRouteDefinition, Route } from "./http/request/routes/route.ts";
import { createRouteTable } from "./http/request/routes/route-table.ts";
import { createRefuse } from "./http/request/routes/router.ts";
import { sessionRoutes } from "./http/request/routes/session-routes.ts";
import { refuseUnknownPath } from "./http/request/routes/unknown-path.ts";
import { apiKeyUsageRoutes } from "./http/resources/api-key-usage.ts";
import { apiKeysRoutes } from "./http/resources/api-keys.ts";
import { assistantsRoutes } from "./http/resources/assistants.ts";
import { auditRoutes } from "./http/resources/audit.ts";
import { authRoutes } from "./http/resources/auth.ts";
import { backupsRoutes } from "./http/resources/backups.ts";
import { biKeysRoutes } from "./http/resources/bi-keys.ts";
import { biStatementsRoutes } from "./http/resources/bi-statements.ts";
import { chatsRoutes } from "./http/resources/chats.ts";
import { connectionsRoutes } from "./http/resources/connections.ts";
import { dataRoutes } from "./http/resources/data.ts";
import { datasetRowsRoutes } from "./http/resources/dataset-rows.ts";
import { datasetsRoutes } from "./http/resources/datasets.ts";
import { documentsRoutes } from "./http/resources/documents.ts";
import { enginesRoutes } from "./http/resources/engines.ts";
import { eventsRoutes } from "./http/resources/events.ts";
import { fileConnectionsRoutes } from "./http/resources/file-connections.ts";
import { filesRoutes } from "./http/resources/files.ts";
import { identitiesRoutes } from "./http/resources/identities.ts";
import { licenseRoutes } from "./http/resources/license.ts";
import { mcpServersRoutes } from "./http/resources/mcp-servers.ts";
import { modelFiguresRoutes } from "./http/resources/model-figures.ts";
import { requestsRoutes } from "./http/resources/requests.ts";
import { serviceTokensRoutes } from "./http/resources/service-tokens.ts";
import { settingsRoutes } from "./http/resources/settings.ts";
import { signInRoutes } from "./http/resources/sign-in.ts";
import { stepKindsRoutes } from "./http/resources/step-kinds.ts";
import { toolTrialsRoutes } from "./http/resources/tool-trials.ts";
import { toolsRoutes } from "./http/resources/tools.ts";
import { usageReconciliationRoutes } from "./http/resources/usage-reconciliation.ts";
import { usageReportsRoutes } from "./http/resources/usage-reports.ts";
import { usersRoutes } from "./http/resources/users.ts";
import { vectorStoreBatchesRoutes } from "./http/resources/vector-store-batches.ts";
import { vectorStoreFilesRoutes } from "./http/resources/vector-store-files.ts";
import { vectorStoreSearchRoutes } from "./http/resources/vector-store-search.ts";
import { vectorStoresRoutes } from "./http/resources/vector-stores.ts";
import { watchedFoldersRoutes } from "./http/resources/watched-folders.ts";
import { workflowRunsRoutes } from "./http/resources/workflow-runs.ts";
import { workflowSecretsRoutes } from "./http/resources/workflow-secrets.ts";
import { workflowWebhookRoutes } from "./http/resources/workflow-webhook.ts";
import { workflowsRoutes } from "./http/resources/workflows.ts";
import { createRequestsUnderWay, type RequestsUnderWay } from "./http/server/requests-under-way.ts";
import type { ServeOptions } from "./http/server/server.ts";
import { healthRoutes } from "./http/service/health.ts";
import { helloRoutes } from "./http/service/hello.ts";
import { metricsRoutes } from "./http/service/metrics.ts";
import { statusRoutes } from "./http/service/status.ts";

export interface App {
  readonly fetch: ServeOptions["fetch"];
  /** Every route that is served. */
  readonly routes: readonly AnyRouteDefinition[];
  readonly underWay: Pick<RequestsUnderWay, "count" | "none">;
}

/**
 * Creates all routes but those of the documents: the whole URL space on one screen. It only reads the settings and keeps
 * the parts for later, so that the documents can be written without a database.
 */
export function createRoutes(deps: Deps): readonly Route[] {
  const routers = [
    chatCompletionsRoutes(deps),
    messagesRoutes(deps),
    responsesRoutes(deps),
    embeddingsRoutes(deps),
    transcriptionsRoutes(deps),
    modelsRoutes(deps),
    filesRoutes(deps),
    fileConnectionsRoutes(deps),
    authRoutes(deps),
    signInRoutes(deps),
    identitiesRoutes(deps),
    usersRoutes(deps),
    statusRoutes(deps),
    settingsRoutes(deps),
    enginesRoutes(deps),
    modelFiguresRoutes(deps),
    apiKeysRoutes(deps),
    apiKeyUsageRoutes(deps),
    biKeysRoutes(deps, { portOf: deps.data.portOf }),
    biStatementsRoutes(deps),
    dataRoutes(deps),
    serviceTokensRoutes(deps),
    chatsRoutes(deps),
    assistantsRoutes(deps),
    vectorStoresRoutes(deps),
    vectorStoreFilesRoutes(deps),
    vectorStoreBatchesRoutes(deps),
    vectorStoreSearchRoutes(deps),
    toolsRoutes(deps),
    toolTrialsRoutes(deps),
    documentsRoutes(deps),
    connectionsRoutes(deps),
    mcpServersRoutes(deps),
    mcpRoutes(deps),
    auditRoutes(deps),
    backupsRoutes(deps),
    licenseRoutes(deps),
    usageReportsRoutes(deps),
    usageReconciliationRoutes(deps),
    requestsRoutes(deps),
    datasetsRoutes(deps),
    datasetRowsRoutes(deps),
    eventsRoutes(deps),
    watchedFoldersRoutes(deps),
    workflowWebhookRoutes(deps),
    workflowsRoutes(deps),
    workflowRunsRoutes(deps),
    workflowSecretsRoutes(deps),
    stepKindsRoutes(deps),
    healthRoutes(deps),
    metricsRoutes(deps),
    helloRoutes(deps),
  ];
  const own = routers.flatMap(({ routes }) => routes);
  return [...own, ...sessionRoutes(own)];
}

/** Creates the app. The path of every request is in `http/request/answer-request.ts`. */
export function createApp(deps: Deps): App {
  const served = createRoutes(deps);
  const definitions = served.map(({ definition }) => definition);
  const docs = deps.settings.GATEWAY_DOCS_ENABLED ? docsRoutes(deps, definitions).routes : [];
  const pages = deps.settings.CONSOLE_ENABLED ? consoleRoutes(deps).routes : [];
  const routes = [...served, ...docs, ...pages];
  const table = createRouteTable(routes);
  table.hono.onError(createRefuse(deps.clock));
  table.hono.notFound((context) => refuseUnknownPath(table, context));
  const underWay = createRequestsUnderWay();
  return {
    fetch: createAnswerRequest(deps, table, underWay),
    routes: routes.map(({ definition }) => definition),
    underWay,
  };
}
