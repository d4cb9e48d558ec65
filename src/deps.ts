import packageJson from "../package.json" with { type: "json" };
import type { FirstSecrets } from "./access/first-start.ts";
import { openAccess } from "./access/open-access.ts";
import { openIdentity } from "./access/open-installation.ts";
import { loadModelsFile } from "./backends/models/models-file.ts";
import { openBackends } from "./backends/open-backends.ts";
import { openChats } from "./chats/chat-store.ts";
import type { Settings } from "./config/settings.ts";
import { openDatasets } from "./data/datasets/open-datasets.ts";
import { openData } from "./data/open-data.ts";
import { openRoles } from "./data/roles/open-roles.ts";
import { openViews } from "./data/views/open-views.ts";
import type { Base } from "./db/base.ts";
import { openStore } from "./db/open-store.ts";
import { openGateway } from "./gateway/open-gateway.ts";
import { openKnowledge } from "./knowledge/open-knowledge.ts";
import { inFolderOf } from "./lib/folders/start-refusal.ts";
import { createRequestIds } from "./lib/id.ts";
import type { Log } from "./lib/log.ts";
import { openLicense } from "./license/license.ts";
import { openLimits } from "./limits/open-limits.ts";
import { openAlerts } from "./operations/alerts/open-alerts.ts";
import { refuseUnfinishedRestore } from "./operations/backup/restore/unfinished-restore.ts";
import { createReadiness } from "./operations/health.ts";
import { openMetrics } from "./operations/metrics/open-metrics.ts";
import { openProcessMetrics } from "./operations/metrics/process-metrics.ts";
import { openClock } from "./operations/open-clock.ts";
import { type OpenParts, openParts } from "./operations/open-parts.ts";
import { serveCommands } from "./operations/serve-commands.ts";
import { openTracing } from "./operations/tracing/open-tracing.ts";
import { openQueue } from "./queue/open-queue.ts";
import { openTools } from "./tools/open-tools.ts";
import { openUsage } from "./usage/open-usage.ts";
import { openWorkflows } from "./workflows/open-workflows.ts";

/** For the edge, the jobs and the stop. */
export type Deps = Awaited<ReturnType<typeof buildDeps>>;

/**
 * The composition root: opens every area once, in the order in which they need each other. An area brings its own jobs,
 * metrics, alerts and checks (`core/part.ts`), so none of them is named here.
 *
 * @param onFirstSecrets is called as soon as the secrets that this start has made up are in the database. They can be
 * shown only once, also when the start fails afterwards.
 */
export function buildDeps(
  settings: Settings,
  log: Log,
  onFirstSecrets: (secrets: FirstSecrets) => void = () => undefined,
) {
  return openParts(async (parts) => {
    await inFolderOf("DATA_DIR", () => refuseUnfinishedRestore(settings));
    const { version } = packageJson;
    const overrides = await loadModelsFile(settings.MODELS_FILE);
    const tracing = await openTracing(settings, { log, version });
    if (tracing !== undefined) parts.add(tracing);
    parts.add(openProcessMetrics(version, settings.LLM_BACKEND));
    const clock = parts.add(openClock(settings, log));
    const { database, guard } = parts.addFoundation(await openStore(settings, log));
    const base: Base = { settings, database, clock, log };

    const { secret, installedAt, installation } = await openIdentity(base);
    const { monotonic } = clock;
    const limits = parts.addFoundation(await openLimits(base, { guard, installation, monotonic }));
    const license = parts.add(await openLicense(base, { secret, installedAt }));
    const { maxUsers } = license;
    const opening = await openAccess(base, { secret, maxUsers, onFirstSecrets });
    const { access, authenticate, currentCaller, findKeyCaller, biKeys, signIn } =
      parts.add(opening);
    const backends = parts.add(await openBackends({ ...base, overrides }));
    const { events, watchedFolders, alertWebhook, deliveries } = parts.add(openQueue(base));
    const alerts = parts.add(openAlerts(base, { parts: parts.list, webhook: alertWebhook }));
    limits.observe(alerts.monthlyUse);
    const { journal, refusals } = parts.add(await openUsage(base, limits));
    limits.start(journal.caughtUp);
    const chats = openChats(base, secret);
    // Another process may have counted by itself while the lock on the database was lost.
    guard.onHeldAgain(() => journal.flush().then(limits.recount));
    const add: OpenParts["add"] = (part) => parts.add(part);
    const knowledge = await openKnowledge(base, { backends, events, add });
    const { search, checkStores, fileConnections, assistants: answering } = knowledge;
    const { tools, connections, toolServers, countToolCall, auditToolCall } = parts.add(
      await openTools(base, { search, fileConnections, secret, version, add }),
    );
    const running = { tools, countToolCall, auditToolCall, currentCaller };
    const assistants = { ...running, known: answering.known, search, checkStores, settings, log };
    const { gateway, openCalls, callGate } = parts.add(
      openGateway(base, { backends, limits, journal, refusals, assistants }),
    );
    knowledge.yieldTo(() => openCalls.clients() > 0);
    const { roles } = parts.add(openRoles(base, { secret, installedAt }));
    const views = await openViews(base, roles.grantView);
    const wake = () => [events.wake(), viewsChanged()];
    const { datasets } = parts.add(openDatasets(base, { events: { wake }, views }));
    const isLicensed = () => !license.isInvalid();
    const reading = await openData(base, {
      ...{ biKeys, roles, secret, installation, isLicensed, add },
      clients: openCalls.clients,
    });
    const { data, viewsChanged } = parts.add(reading);
    const workflows = await openWorkflows(base, {
      ...{ gateway, knowledge, connections, datasets, events, deliveries, secret, isLicensed },
      ...{ openCalls, callGate, findKeyCaller, add },
    });
    // An event that no part has subscribed to counts as delivered.
    events.start();
    const { backups } = parts.add(await serveCommands(base, version));
    const { collect, figures } = parts.add(openMetrics(base, parts.list));
    const stopping = new AbortController();
    const isStopping = () => stopping.signal.aborted;
    return {
      ...{ settings, log, version, authenticate, access, signIn, license, limits, refusals },
      ...{ gateway, openCalls, callGate, knowledge, tools, connections, toolServers },
      ...{ findKeyCaller, data, datasets, workflows, events, watchedFolders, chats, backups },
      engines: backends.engines,
      clock: base.clock,
      parts: parts.list,
      figures,
      metrics: { collect },
      readiness: createReadiness({ parts: parts.list, isStopping, settings }),
      nextRequestId: createRequestIds(),
      /** Aborted when the server begins to stop. */
      stopping,
      /** Undefined unless requests are traced. */
      tracing,
      /** Resolves when every usage record written so far is on the disk. */
      syncJournal: journal.sync,
      /** Moves usage to the database for at most `journalDrainMs`, then releases everything. */
      close: (journalDrainMs: number) => parts.close(journalDrainMs),
    };
  });
}
