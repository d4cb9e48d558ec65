import type { Step } from "../definition/definition.ts";
import { MAIN, TRIGGER_STEP } from "../rows/row-store.ts";
import type { StepKind } from "../steps/step-kind.ts";
import type { OutputFigures, StepRecord } from "./step-records.ts";

/** What the order of the steps depends on. */
export interface StepState {
  readonly status: StepRecord["status"];
  readonly outputs: readonly OutputFigures[];
}

/** One output that a step reads. */
export interface InputPlace {
  /** The step that wrote it, or the trigger. */
  readonly stepId: string;
  readonly output: string;
  /** How the step names it. */
  readonly name: string;
  readonly rows: number;
  readonly bytes: number;
}

export type Decision =
  | { readonly kind: "wait" }
  | { readonly kind: "skip"; readonly because: string }
  | { readonly kind: "run"; readonly inputs: readonly InputPlace[] };

export interface GraphState {
  readonly steps: ReadonlyMap<string, StepState>;
  /** The rows that the trigger brought. */
  readonly trigger: Omit<OutputFigures, "name">;
}

/** The kind of step that reads what the trigger brought, wherever it stands. */
const INPUT_KIND = "input";

/** Decides about a pending step: whether it waits for others, runs, or is skipped for lack of rows. */
export function decideStep(step: Step, kind: StepKind | undefined, graph: GraphState): Decision {
  const above = [...new Set(step.from.map((name) => placeOf(name).stepId))];
  const states = above.map((id) => graph.steps.get(id)?.status);
  if (states.some((status) => status !== "completed" && status !== "skipped"))
    return { kind: "wait" };
  const inputs = inputsOf(step, kind, graph);
  // A kind that is not known any more runs too, and fails by its name.
  const runsAnyway =
    kind === undefined || kind.group === "source" || kind.runsOnEmpty?.(step.settings) === true;
  if (runsAnyway) return { kind: "run", inputs };
  if (above.length > 0 && states.every((status) => status === "skipped")) {
    return {
      kind: "skip",
      because: `${quoted(above)} ${above.length === 1 ? "was" : "were"} skipped.`,
    };
  }
  if (step.run_on_empty || inputs.some(({ rows }) => rows > 0)) return { kind: "run", inputs };
  const source = above.length === 0 ? "The trigger" : quoted(step.from);
  return { kind: "skip", because: `${source} brought no rows.` };
}

function inputsOf(
  { from }: Step,
  kind: StepKind | undefined,
  { steps, trigger }: GraphState,
): readonly InputPlace[] {
  if (readsTrigger({ from }, kind)) {
    return [{ stepId: TRIGGER_STEP, output: MAIN, name: INPUT_KIND, ...trigger }];
  }
  return from.map((name) => {
    const { stepId, output } = placeOf(name);
    const found = steps.get(stepId)?.outputs.find((one) => one.name === output);
    const { rows = 0, bytes = 0 } = found ?? {};
    return { stepId, output, name: name.replace(".", "_"), rows, bytes };
  });
}

/** Whether what the trigger brought is a step's input. */
export function readsTrigger({ from }: Pick<Step, "from">, kind: StepKind | undefined): boolean {
  return kind?.kind === INPUT_KIND || (from.length === 0 && kind?.group !== "source");
}

/** `check.else` is the output `else` of the step `check`. */
function placeOf(name: string): { readonly stepId: string; readonly output: string } {
  const [stepId = "", output = MAIN] = name.split(".", 2);
  return { stepId, output };
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(", ");
}
