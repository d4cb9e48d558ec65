import { isDeepStrictEqual } from "node:util";
import type { Definition, Step } from "../../definition/definition.ts";

/** Returns the ids of the steps that a step hangs on, directly or through others, in the order of the definition. */
export function stepsBefore({ steps }: Definition, stepId: string): readonly string[] {
  const sources = new Map(steps.map(({ id, from }) => [id, from.map(stepOf)]));
  const found = new Set<string>();
  const visit = (id: string) => {
    for (const source of sources.get(id) ?? []) {
      if (found.has(source)) continue;
      found.add(source);
      visit(source);
    }
  };
  visit(stepId);
  return steps.map(({ id }) => id).filter((id) => found.has(id));
}

/** Returns the ids of the current steps that are in the own version as they are in the current one. */
export function unchangedSteps(own: Definition, current: Definition): ReadonlySet<string> {
  const before = new Map(own.steps.map((step) => [step.id, step]));
  const isSame = (step: Step) => isDeepStrictEqual(before.get(step.id), step);
  return new Set(current.steps.filter(isSame).map(({ id }) => id));
}

/** Returns the first step before `first` that is not in the own version as it is in the current one. */
export function changedBefore(
  own: Definition,
  current: Definition,
  first: string,
): string | undefined {
  const unchanged = unchangedSteps(own, current);
  return stepsBefore(current, first).find((id) => !unchanged.has(id));
}

/** `check` of `check.else`. */
function stepOf(source: string): string {
  return source.split(".")[0] ?? source;
}
