import { countOf } from "../../../lib/count.ts";
import { describeTrigger } from "../../../lib/trigger-words.ts";
import { type FlowStep, outputsOf } from "../../../lib/workflow-graph.ts";
import { connectSteps, disconnectSteps, placeOfStep } from "../../../lib/workflow-text.ts";
import type { FlowNote } from "../../../parts/flow/flow-nodes.tsx";
import { LazyGraph } from "../../../parts/flow/lazy-graph.tsx";
import type { ViewProps } from "../editor/editor-props.ts";
import { panelOfStep } from "../editor/panel.ts";
import type { Draft } from "../editor/use-draft.ts";

/** The steps as a picture: arrows are drawn from box to box, and deleted when they are chosen. */
export function GraphView({ draft, kinds, readOnlyReason, panel, onOpen }: ViewProps) {
  const { steps, triggers } = draft.document;
  const mayChange = readOnlyReason === undefined && draft.fault === undefined;
  const namedOutputs = (step: FlowStep) =>
    outputsOf(step, steps, kinds?.data.find(({ kind }) => kind === step.kind)?.outputs ?? []);
  return (
    <LazyGraph
      label="Graph of the steps"
      steps={steps}
      triggers={triggers.map((trigger) => describeTrigger(trigger))}
      outputsOf={namedOutputs}
      noteOf={(step) => noteOf(draft, step)}
      selected={panel?.kind === "step" ? panel.at : undefined}
      onSelect={(at) => onOpen(panelOfStep(draft.document, at))}
      onTrigger={(at) => onOpen(`$trigger${at}`)}
      onConnect={
        mayChange ? (source, at) => draft.edit((text) => connectSteps(text, source, at)) : undefined
      }
      onDisconnect={
        mayChange
          ? (arrows) =>
              draft.edit((text) =>
                arrows.reduce((now, { source, at }) => disconnectSteps(now, source, at), text),
              )
          : undefined
      }
    />
  );
}

/** How many faults a step has. */
export function faultsOfStep({ faults, document }: Draft, at: number) {
  return faults.filter(({ step }) => step !== null && placeOfStep(document.steps, step) === at);
}

function noteOf(draft: Draft, { at }: FlowStep): FlowNote | undefined {
  const { length } = faultsOfStep(draft, at);
  if (length === 0) return undefined;
  return { tone: "bad", text: countOf(length, "fault"), isBad: true };
}
