import { placeOfStep, type WorkflowDocument } from "../../../lib/workflow-text.ts";

/** What stands open beside the views: a step, a trigger or the settings. */
export type Panel =
  | { readonly kind: "step"; readonly at: number }
  | { readonly kind: "trigger"; readonly at: number }
  | { readonly kind: "settings" }
  | undefined;

/** Reads `classify`, `steps[3]`, `$trigger0` and `$settings`, as the address names them. */
export function readPanel(name: string, { steps, triggers }: WorkflowDocument): Panel {
  if (name === "") return undefined;
  if (name === "$settings") return { kind: "settings" };
  const trigger = /^\$trigger(\d+)$/.exec(name)?.[1];
  if (trigger !== undefined) {
    return Number(trigger) in triggers ? { kind: "trigger", at: Number(trigger) } : undefined;
  }
  const at = placeOfStep(steps, name);
  return at === undefined ? undefined : { kind: "step", at };
}

/** How the address names a step. */
export function panelOfStep({ steps }: WorkflowDocument, at: number): string {
  const id = steps[at]?.id ?? "";
  const isFirst = steps.findIndex((step) => step.id === id) === at;
  return id !== "" && isFirst ? id : `steps[${at}]`;
}
