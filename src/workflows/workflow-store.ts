import type { Settings } from "../config/settings.ts";
import type { Database } from "../db/database.ts";
import type { Log } from "../lib/log.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { Clock } from "../lib/time/clock.ts";
import type { RowProcess } from "./row-process/row-process.ts";
import type { DiscardCounts } from "./runs/accept/discard-counts.ts";
import type { StepKinds } from "./steps/registry.ts";

/** What the verbs of workflows and runs work with. */
export interface WorkflowStore {
  readonly settings: Settings;
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly secretBox: SecretBox;
  readonly kinds: StepKinds;
  readonly rowProcess: RowProcess;
  /** False without a license: triggers are discarded, queued runs wait. */
  readonly isLicensed: () => boolean;
  /** Discarded triggers of this process by reason. */
  readonly discards: DiscardCounts;
  /** After a commit that made a run `running`: a worker looks for it at once. */
  readonly wakeRuns: () => void;
  /** After a commit that stored events. */
  readonly wakeEvents: () => void;
}
