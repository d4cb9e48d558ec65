import type { OverdueEvents } from "../../queue/figures.ts";

/** A tool server in the state `error`. */
export interface FailedToolServer {
  readonly id: string;
  readonly name: string;
  /** Short, without an address or a secret; undefined when nothing is known. */
  readonly reason: string | undefined;
}

/** A run of a workflow that ended in `failed`. Times are Unix milliseconds. */
export interface FailedRun {
  readonly id: string;
  readonly workflowId: string;
  readonly workflowName: string;
  readonly failedAt: number;
  /** Undefined when it failed before its first step. */
  readonly failedStep: string | undefined;
}

/** A workflow whose latest ended runs have all failed. */
export interface FailingWorkflow {
  readonly id: string;
  readonly name: string;
  /** So many in a row, up to now. */
  readonly failures: number;
  /** Unix milliseconds of the first of them. */
  readonly firstFailedAt: number;
  readonly lastRunId: string;
}

/** The runs that wait for longer than somebody asked about. */
export interface WaitingRuns {
  readonly count: number;
  readonly oldestRunId: string;
  readonly oldestWorkflowId: string;
  readonly oldestWorkflowName: string;
  /** Unix milliseconds. */
  readonly oldestQueuedAt: number;
}

/** What the rules of alerts go by: each part tells of itself. They reject with what the database threw. */
export interface AlertFacts {
  /** Asks the local engine now, for a few seconds at most. Never rejects. */
  readonly engineAnswers: () => Promise<boolean>;
  /** Events stored before a moment that are neither delivered nor given up, but for those of one kind. */
  readonly overdueEvents: (before: number, exceptKind: string) => Promise<readonly OverdueEvents[]>;
  readonly failedToolServers: () => Promise<readonly FailedToolServer[]>;
  /** The runs that failed since a moment, latest first, at most 1,000. */
  readonly failedRuns: (since: number) => Promise<readonly FailedRun[]>;
  readonly failingWorkflows: (leastFailures: number) => Promise<readonly FailingWorkflow[]>;
  /** Undefined when no run was queued before this moment and waits still. */
  readonly waitingRuns: (queuedBefore: number) => Promise<WaitingRuns | undefined>;
}
