import type { FindKeyCaller } from "../access/keys/find-key-caller.ts";
import type { Secret } from "../access/secret.ts";
import type { Part } from "../core/part.ts";
import type { Datasets } from "../data/datasets/datasets.ts";
import type { Base } from "../db/base.ts";
import type { Db } from "../db/context.ts";
import type { EmbeddingGateway } from "../gateway/embed.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { OpenCalls } from "../gateway/open-calls.ts";
import type { CallGate } from "../gateway/overload/call-gate.ts";
import type { Knowledge } from "../knowledge/open-knowledge.ts";
import { createEgress } from "../lib/egress/egress.ts";
import { createSecretBox } from "../lib/secret-box.ts";
import type { DeliveryFigures } from "../queue/figures.ts";
import type { InternalEvents } from "../queue/internal-events.ts";
import type { Connections } from "../tools/connections/open-connections.ts";
import { createChainHeaders } from "./calls-out/call-chain.ts";
import { createExecution } from "./execute/execute-run.ts";
import { openRowUpkeep } from "./execute/row-upkeep.ts";
import { createStepModels } from "./models/create-step-models.ts";
import { openNotifications } from "./notify/open-notifications.ts";
import { connectRecords, createReadDefinition } from "./records/connect-records.ts";
import type { WorkflowRecords } from "./records/workflow-records.ts";
import { openRowProcess } from "./row-process/open-row-process.ts";
import { createDiscardCounts } from "./runs/accept/discard-counts.ts";
import { createChildRuns } from "./runs/children/create-child-runs.ts";
import { openRuns } from "./runs/open-runs.ts";
import { createWorkflowSecrets } from "./secrets.ts";
import { createStepKinds } from "./steps/registry.ts";
import { openTriggers } from "./triggers/open-triggers.ts";
import { createWorkflowFigures } from "./workflow-figures.ts";
import type { WorkflowStore } from "./workflow-store.ts";

export interface WorkflowParts {
  readonly gateway: Gateway & EmbeddingGateway;
  readonly knowledge: Pick<Knowledge, "files" | "stores" | "search" | "fileConnections">;
  readonly connections: Connections;
  readonly datasets: Datasets;
  readonly events: Pick<InternalEvents, "subscribe" | "wake">;
  /** Counters of the tries to deliver messages. */
  readonly deliveries: DeliveryFigures;
  readonly secret: Pick<Secret, "derive">;
  readonly isLicensed: () => boolean;
  /** The calls of this process: those of runs join them, and yield to those of clients. */
  readonly openCalls: Pick<OpenCalls, "open" | "clients">;
  readonly callGate: Pick<CallGate, "refusal">;
  readonly findKeyCaller: FindKeyCaller;
  /** Registers each part as soon as it is open, so that a failing start closes it. */
  readonly add: <Opened extends Part<Db>>(part: Opened) => Opened;
}

/** Work that runs by itself: definitions, runs, triggers. */
export async function openWorkflows(base: Base, parts: WorkflowParts): Promise<WorkflowRecords> {
  const { settings, database, clock, log } = base;
  const { events, isLicensed, add, knowledge } = parts;
  const secretBox = createSecretBox(parts.secret.derive("workflow-secrets"));
  const rowProcess = openRowProcess({ processes: settings.ROW_PROCESSES });
  add({ close: async () => rowProcess.close() });
  const discards = createDiscardCounts();
  const wakeEvents = () => events.wake();
  const known = {
    ...{ settings, database, clock, log, secretBox, rowProcess },
    ...{ isLicensed, discards, wakeEvents },
  };
  const runs = add(openRuns(known));
  const egress = createEgress({ allow: settings.EGRESS_ALLOW });
  const secrets = createWorkflowSecrets({ database, secretBox });
  const chainHeaders = createChainHeaders(secretBox);
  const kinds = createStepKinds({
    ...{ settings, database, clock, log, rowProcess },
    models: createStepModels({ ...parts, clock, log }),
    datasets: parts.datasets,
    connections: parts.connections,
    ...knowledge,
    ...{ egress, secrets, chainHeaders },
    childRuns: createChildRuns(() => store, runs.waits),
  });
  const store: WorkflowStore = { ...known, kinds, wakeRuns: runs.wake };
  add(await openRowUpkeep(store));
  add(createWorkflowFigures(store));
  const counts = parts.deliveries.workflow_notify;
  add(openNotifications(base, { egress, secrets, chainHeaders, counts }));
  add(openTriggers({ store, events, fileConnections: knowledge.fileConnections }));
  runs.start(createExecution(store), createReadDefinition(kinds));
  return connectRecords(store, { secrets, fileConnections: knowledge.fileConnections });
}
