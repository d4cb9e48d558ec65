import { z } from "zod";
import type { Settings } from "../../config/settings.ts";
import type { Log } from "../../lib/log.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Step } from "../definition/definition.ts";
import { type ClaimedRun, type RunEnd, type RunError, StepFailure } from "../runs/run.ts";
import type { StepKinds } from "../steps/registry.ts";
import type { StepEnd, StepKind } from "../steps/step-kind.ts";
import { decideStep, type GraphState, type InputPlace, type StepState } from "./next-steps.ts";
import type { Pauses } from "./retry-pause.ts";
import type { RunClaim } from "./run-claim.ts";
import { runStep, SiblingFailed, type StepOutcome } from "./run-step.ts";
import { breakError, outputsOf, type StepRecord, skipSteps, usageOf } from "./step-records.ts";

/** Steps of one run that run side by side. */
const STEPS_AT_ONCE = 4;

export interface GraphOptions {
  readonly run: ClaimedRun;
  readonly claim: RunClaim;
  readonly records: ReadonlyMap<string, StepRecord>;
  readonly trigger: GraphState["trigger"];
  /** Where an earlier worker saw the run broken. */
  readonly broken: Broken | undefined;
  readonly kinds: StepKinds;
  readonly pauses: Pauses;
  readonly settings: Pick<Settings, "WORKFLOW_MAX_ROWS" | "WORKFLOW_MAX_BYTES">;
  readonly clock: Clock;
  readonly log: Log;
}

interface Decided {
  readonly skipped: readonly { readonly stepId: string; readonly because: string }[];
  readonly free: readonly { readonly step: Step; readonly inputs: readonly InputPlace[] }[];
}

const NOTHING: Decided = { skipped: [], free: [] };

interface Broken {
  readonly brokeAt: string;
  /** Unset: the run is completed. */
  readonly error: RunError | undefined;
}

/** Runs the steps of a run in the order of their inputs, from whatever state an earlier worker left them in. */
export class RunGraph {
  readonly #options: GraphOptions;
  readonly #states = new Map<string, StepState>();
  /** What an earlier worker had begun. */
  readonly #begun = new Set<string>();
  readonly #running = new Map<string, Promise<void>>();
  readonly #halt = new AbortController();
  #failure: RunError | undefined;
  #broken: Broken | undefined;
  /** The run cannot go on here. */
  #thrown: { readonly thrown: unknown } | undefined;

  constructor(options: GraphOptions) {
    this.#options = options;
    this.#broken = options.broken;
    for (const [id, { status, outputs }] of options.records) {
      // What an earlier worker had begun goes on, or starts again.
      const isOpen = status === "running" || status === "stopped";
      if (isOpen) this.#begun.add(id);
      this.#states.set(id, {
        status: isOpen ? "pending" : status,
        outputs: outputsOf(outputs),
      });
    }
  }

  async run(): Promise<RunEnd> {
    for (;;) {
      const { skipped, free } = this.#isHalted() ? NOTHING : this.#decide();
      if (skipped.length > 0) {
        await this.#skip(skipped).catch((thrown: unknown) => this.#abandon(thrown));
        // Steps may have ended meanwhile.
        continue;
      }
      for (const { step, inputs } of free.slice(0, STEPS_AT_ONCE - this.#running.size)) {
        this.#start(step, inputs);
      }
      if (this.#running.size === 0) break;
      await Promise.race(this.#running.values());
    }
    if (this.#thrown !== undefined) throw this.#thrown.thrown;
    return this.#end();
  }

  #isHalted(): boolean {
    return this.#failure !== undefined || this.#thrown !== undefined;
  }

  /** Behind a break only what was in progress goes on. */
  #mayStart(id: string): boolean {
    const isPending = this.#states.get(id)?.status === "pending";
    return isPending && (this.#broken === undefined || this.#begun.has(id));
  }

  #end(): RunEnd {
    const brokeAt = this.#broken?.brokeAt;
    const error = this.#broken?.error ?? this.#failure;
    return error === undefined
      ? { status: "completed", brokeAt }
      : { status: "failed", error, brokeAt };
  }

  /** Finds what is skipped now, or else what is free to start. */
  #decide(): Decided {
    const { run, kinds, trigger } = this.#options;
    const graph = { steps: this.#states, trigger };
    const decided = run.definition.steps
      .filter(({ id }) => this.#mayStart(id))
      .map((step) => ({ step, decision: decideStep(step, kinds.find(step.kind), graph) }));
    return {
      skipped: decided.flatMap(({ step, decision }) =>
        decision.kind === "skip" ? [{ stepId: step.id, because: decision.because }] : [],
      ),
      free: decided.flatMap(({ step, decision }) =>
        decision.kind === "run" ? [{ step, inputs: decision.inputs }] : [],
      ),
    };
  }

  async #skip(skipped: Decided["skipped"]): Promise<void> {
    const { run, claim } = this.#options;
    await claim.advance((transaction) => skipSteps(transaction, run, skipped));
    for (const { stepId } of skipped) this.#states.set(stepId, { status: "skipped", outputs: [] });
  }

  #start(step: Step, inputs: readonly InputPlace[]): void {
    const { records, kinds, ...parts } = this.#options;
    this.#states.set(step.id, { status: "running", outputs: [] });
    const kind = kinds.find(step.kind) ?? unknownKind(step);
    const usage = usageOf(records.get(step.id)?.usage);
    const ended = runStep({ ...parts, step, kind, inputs, usage }, this.#halt.signal)
      .then((outcome) => this.#settle(step, outcome))
      .catch((thrown: unknown) => this.#abandon(thrown))
      .finally(() => this.#running.delete(step.id));
    this.#running.set(step.id, ended);
  }

  #settle(step: Step, outcome: StepOutcome): void {
    if (outcome.kind === "completed") {
      this.#states.set(step.id, { status: "completed", outputs: outcome.outputs });
      if (outcome.end !== undefined) this.#break(step, outcome.end);
      return;
    }
    this.#states.set(step.id, { status: outcome.kind, outputs: [] });
    if (outcome.kind !== "failed") return;
    this.#failure ??= outcome.error;
    this.#halt.abort(new SiblingFailed(`The step ${step.id} failed.`));
  }

  #abandon(thrown: unknown): void {
    this.#thrown ??= { thrown };
    this.#halt.abort(thrown);
  }

  /** Steps in progress finish; nothing more starts. */
  #break({ id }: Step, { breaks }: StepEnd): void {
    const error = breaks.as === "failed" ? breakError(id, breaks.message) : undefined;
    this.#broken ??= { brokeAt: id, error };
  }
}

/** A kind that an earlier release had. */
function unknownKind({ kind }: Step): StepKind {
  return {
    kind,
    group: "source",
    label: kind,
    help: "",
    example: {},
    schema: z.strictObject({}),
    run: async () => {
      throw new StepFailure("unknown_kind", `There is no kind of step "${kind}". Choose another.`);
    },
  };
}
