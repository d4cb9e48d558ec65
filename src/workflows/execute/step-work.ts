import type { Settings } from "../../config/settings.ts";
import type { Log } from "../../lib/log.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Step } from "../definition/definition.ts";
import type { ClaimedRun } from "../runs/run.ts";
import type { StepKind, StepUsage } from "../steps/step-kind.ts";
import type { InputPlace } from "./next-steps.ts";
import type { Pauses } from "./retry-pause.ts";
import type { RunClaim } from "./run-claim.ts";

/** What one step works with. */
export interface StepWork {
  readonly run: ClaimedRun;
  readonly step: Step;
  readonly kind: StepKind;
  readonly inputs: readonly InputPlace[];
  /** Of earlier workers. */
  readonly usage: StepUsage;
  readonly claim: RunClaim;
  readonly settings: Pick<Settings, "WORKFLOW_MAX_ROWS" | "WORKFLOW_MAX_BYTES">;
  readonly clock: Clock;
  readonly log: Log;
  readonly pauses: Pauses;
  readonly timeLeftMs: () => number;
}
