import { MAIN } from "../rows/row-store.ts";
import type { Fault, Step } from "./definition.ts";
import { unknownName } from "./describe-faults.ts";
import type { ReadStep } from "./parse-steps.ts";

const ERRORS = "errors";

/** Returns the valid steps with what each reads from, and lists what is wrong with their connections. */
export function connectSteps(read: readonly ReadStep[]): {
  readonly steps: readonly Step[];
  readonly faults: readonly Fault[];
} {
  const faults: Fault[] = [];
  const byId = new Map<string, ReadStep>();
  for (const step of read) {
    if (step.id === undefined) continue;
    const earlier = byId.get(step.id);
    if (earlier === undefined) byId.set(step.id, step);
    else {
      const message = `steps[${earlier.at}] has the id '${step.id}', too. Choose another one.`;
      faults.push({ step: `steps[${step.at}]`, field: "id", message });
    }
  }
  const sources = new Map(read.map((step) => [step, sourcesOf(step, read[step.at - 1])]));
  for (const [step, from] of sources) {
    const messages = [...findSourceFaults(step, from, byId), ...findNoInput(step, from)];
    faults.push(...messages.map((message) => ({ step: step.name, field: "from", message })));
  }
  faults.push(...findCycles(byId, sources));
  const steps = read.flatMap((one) =>
    one.step === undefined ? [] : [{ ...one.step, from: sources.get(one) ?? [] }],
  );
  return { steps, faults };
}

/** The names of the outputs of a step, besides its main one. */
function outputsOf({ step, kind }: Pick<ReadStep, "step" | "kind">): readonly string[] {
  if (step === undefined || kind === undefined) return [];
  const own = kind.outputs?.(step.settings) ?? [];
  return step.on_row_error === "route" ? [...own, ERRORS] : own;
}

/** Splits `check.else` into the step and the name of its output. */
function splitSource(source: string): readonly [step: string, output: string] {
  const dot = source.indexOf(".");
  return dot === -1 ? [source, MAIN] : [source.slice(0, dot), source.slice(dot + 1)];
}

/** How SQL and joins name an input. */
export function inputName(source: string): string {
  return source.replace(".", "_");
}

function sourcesOf({ from }: ReadStep, above: ReadStep | undefined): readonly string[] {
  if (from !== undefined) return from;
  return above?.id === undefined ? [] : [above.id];
}

function* findSourceFaults(
  { id }: ReadStep,
  from: readonly string[],
  byId: ReadonlyMap<string, ReadStep>,
): Generator<string> {
  const names = new Set<string>();
  for (const source of from) {
    const name = inputName(source);
    if (names.has(name)) {
      yield `Two inputs have the name '${name.slice(0, 90)}'. Name each of them once, or give one of the steps another id.`;
    }
    names.add(name);
    const [stepId, output] = splitSource(source);
    const found = byId.get(stepId);
    if (stepId === id) yield "A step cannot read from itself. Name another step.";
    else if (found === undefined) {
      const others = [...byId.keys()].filter((known) => known !== id);
      yield unknownName("step", stepId, others);
    } else if (source.includes(".") && found.step !== undefined) {
      const outputs = outputsOf(found);
      if (!outputs.includes(output)) yield unknownOutput(stepId, output, outputs);
    }
  }
}

function unknownOutput(stepId: string, output: string, outputs: readonly string[]): string {
  if (output === ERRORS) {
    return `'${stepId}' has no output 'errors'. Set its 'on_row_error' to 'route', or read from '${stepId}'.`;
  }
  const names = [stepId, ...outputs.map((name) => `${stepId}.${name}`)];
  return unknownName("output", `${stepId}.${output}`, names);
}

/** A step without inputs would be skipped in every run. */
function* findNoInput({ at, kind, step }: ReadStep, from: readonly string[]): Generator<string> {
  if (from.length > 0 || kind === undefined || step === undefined) return;
  const runs = kind.group === "source" || step.run_on_empty || kind.runsOnEmpty?.(step.settings);
  if (runs === true) return;
  const where = at === 0 ? "Begin with a source such as 'input'" : "Name the steps to read from";
  yield `A '${kind.kind}' step needs rows and has no input. ${where}, or set 'run_on_empty'.`;
}

function* findCycles(
  byId: ReadonlyMap<string, ReadStep>,
  sources: ReadonlyMap<ReadStep, readonly string[]>,
): Generator<Fault> {
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (id: string): readonly string[] | undefined => {
    const step = byId.get(id);
    if (done.has(id) || step === undefined) return undefined;
    const start = path.indexOf(id);
    if (start !== -1) return path.slice(start);
    path.push(id);
    for (const source of sources.get(step) ?? []) {
      const [from] = splitSource(source);
      // A step that reads from itself is reported by its `from`.
      const cycle = from === id ? undefined : visit(from);
      if (cycle !== undefined) return cycle;
    }
    path.pop();
    done.add(id);
    return undefined;
  };
  for (const id of byId.keys()) {
    const cycle = visit(id);
    path.length = 0;
    if (cycle === undefined) continue;
    for (const one of cycle) done.add(one);
    const [first = id] = cycle;
    const way = [...cycle, first].reverse().join("' → '");
    const message = `These steps wait for each other: '${way}'. Take one of them out of a 'from'.`;
    yield { step: first, field: "from", message };
  }
}
