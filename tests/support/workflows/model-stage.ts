import type { SimulatorOptions } from "../../../simulator/options.ts";
import { createEgress } from "../../../src/lib/egress/egress.ts";
import type { JsonObject } from "../../../src/lib/json/json.ts";
import { createLog } from "../../../src/lib/log.ts";
import { createStepModels } from "../../../src/workflows/models/create-step-models.ts";
import type { StepModels } from "../../../src/workflows/models/step-models.ts";
import type { StepKind } from "../../../src/workflows/steps/step-kind.ts";
import type { StepServices } from "../../../src/workflows/steps/step-services.ts";
import { callHttp, logIn } from "../clients/http-session.ts";
import { issueKey, type LimitFields } from "../clients/issue-key.ts";
import { startSimulator, type TestSimulator } from "../servers/start-simulator.ts";
import { ADMIN_PASSWORD, type ServedDeps, serveDeps } from "../stages/served-deps.ts";
import { eventually } from "../stages/usage/usage-journal.ts";
import { simpleTexts } from "./simple-texts.ts";

/** The whole gateway before the simulator, and what its steps are made of. */
export interface ModelStage {
  readonly simulator: TestSimulator;
  readonly served: ServedDeps;
  readonly models: StepModels;
  readonly kind: (create: (services: StepServices) => StepKind) => StepKind;
  readonly createKey: (limits?: LimitFields) => Promise<string>;
  /** A call of the console as the administrator. */
  readonly api: (
    method: "GET" | "PATCH" | "DELETE",
    path: string,
    body?: JsonObject,
  ) => Promise<JsonObject>;
  /** The usage rows of a run, once there are as many. */
  readonly requestsOf: (runId: string, count: number) => Promise<readonly JsonObject[]>;
  readonly secrets: Map<string, string>;
  readonly close: () => Promise<void>;
}

export async function startModelStage(
  databaseServerUrl: string | undefined,
  simulatorOptions: Partial<SimulatorOptions> = {},
  settingsFor: (simulatorUrl: string) => Record<string, string> = () => ({}),
): Promise<ModelStage> {
  const simulator = await startSimulator(simulatorOptions);
  const served = await serveDeps(databaseServerUrl, {
    LLM_BACKEND: "vllm",
    LLM_BASE_URL: simulator.url,
    EGRESS_ALLOW: "127.0.0.1",
    ...settingsFor(simulator.url),
  });
  const { deps, url } = served;
  const token = await logIn(url, "admin", ADMIN_PASSWORD);
  const models = createStepModels({
    gateway: deps.gateway,
    clock: deps.clock,
    log: createLog("silent"),
    findKeyCaller: deps.findKeyCaller,
    openCalls: deps.openCalls,
    callGate: deps.callGate,
    isLicensed: () => !deps.license.isInvalid(),
  });
  const secrets = new Map<string, string>();
  const services = {
    settings: deps.settings,
    rowProcess: simpleTexts,
    models,
    stores: deps.knowledge.stores,
    search: deps.knowledge.search,
    egress: createEgress({ allow: deps.settings.EGRESS_ALLOW }),
    secrets: {
      read: async (_owner: string, name: string) => secrets.get(name),
      exists: async (_owner: string, name: string) => secrets.has(name),
    },
  };
  const api: ModelStage["api"] = async (method, path, body) => {
    const answer = await callHttp(url, { method, path, token, ...(body && { body }) });
    if (answer.status > 299) throw new Error(`${method} ${path}: ${answer.text}`);
    return answer.body as JsonObject;
  };
  return {
    ...{ simulator, served, models, secrets, api },
    kind: (create) => create(services as unknown as StepServices),
    createKey: async (limits = {}) => (await issueKey({ url }, limits)).id,
    async requestsOf(runId, count) {
      let rows: readonly JsonObject[] = [];
      await eventually(async () => {
        const page = await api("GET", `/api/requests?run_id=${runId}&limit=1000`);
        rows = page["data"] as readonly JsonObject[];
        return rows.length >= count;
      });
      return rows;
    },
    async close() {
      await served.close();
      await simulator.stop();
    },
  };
}
