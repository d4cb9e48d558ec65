import type { Settings } from "../../config/settings.ts";
import type { Datasets } from "../../data/datasets/datasets.ts";
import type { Database } from "../../db/database.ts";
import type { FileConnections } from "../../knowledge/file-connections.ts";
import type { FileStore } from "../../knowledge/files/files.ts";
import type { Search } from "../../knowledge/retrieve/passage.ts";
import type { Stores } from "../../knowledge/stores/stores.ts";
import type { Egress } from "../../lib/egress/egress.ts";
import type { Log } from "../../lib/log.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Connections } from "../../tools/connections/open-connections.ts";
import type { ChainHeaders } from "../calls-out/call-chain.ts";
import type { StepModels } from "../models/step-models.ts";
import type { RowProcess } from "../row-process/row-process.ts";
import type { ChildRuns } from "../runs/children/child-runs.ts";
import type { WorkflowSecrets } from "../secrets.ts";

/** What the kinds of steps are made of. Each takes what it needs. */
export interface StepServices {
  readonly settings: Settings;
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly rowProcess: RowProcess;
  readonly models: StepModels;
  readonly datasets: Datasets;
  readonly connections: Connections;
  readonly fileConnections: FileConnections;
  readonly files: FileStore;
  readonly stores: Stores;
  readonly search: Search;
  /** Calls out, guarded. */
  readonly egress: Egress;
  /** What a call out carries that may start a run of this installation. */
  readonly chainHeaders: ChainHeaders;
  readonly secrets: WorkflowSecrets;
  readonly childRuns: ChildRuns;
}
