import { graphlib, layout } from "@dagrejs/dagre";
import type { FlowStep } from "../../lib/workflow-graph.ts";

export const NODE = { width: 216, height: 76 } as const;

interface Place {
  readonly x: number;
  readonly y: number;
}

export interface FlowPlaces {
  /** In the order of the triggers. */
  readonly triggers: readonly Place[];
  /** In the order of the steps. */
  readonly steps: readonly Place[];
}

/** Lays steps out from left to right, by what they read; a definition holds no places. */
export function placeSteps(steps: readonly FlowStep[], triggers: number): FlowPlaces {
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 28, ranksep: 64 });
  graph.setDefaultEdgeLabel(() => ({}));
  const stepName = (at: number) => `s${at}`;
  const places = new Map(steps.map(({ id, at }) => [id, at]));
  for (const { at } of steps) graph.setNode(stepName(at), { ...NODE });
  for (const { at, inputs } of steps) {
    for (const { step } of inputs) {
      const from = places.get(step);
      if (from !== undefined && from !== at) graph.setEdge(stepName(from), stepName(at));
    }
  }
  for (let trigger = 0; trigger < triggers; trigger += 1) {
    graph.setNode(`t${trigger}`, { ...NODE });
    for (const at of stepsOfTriggers(steps)) graph.setEdge(`t${trigger}`, stepName(at));
  }
  layout(graph);
  const placeOf = (name: string): Place => {
    const { x, y } = graph.node(name) as Place;
    return { x: x - NODE.width / 2, y: y - NODE.height / 2 };
  };
  return {
    triggers: Array.from({ length: triggers }, (_, at) => placeOf(`t${at}`)),
    steps: steps.map(({ at }) => placeOf(stepName(at))),
  };
}

/** The steps that a trigger's rows come to; without an `input` the trigger only starts the first step. */
export function stepsOfTriggers(steps: readonly FlowStep[]): readonly number[] {
  const inputs = steps.filter(({ kind }) => kind === "input").map(({ at }) => at);
  return inputs.length > 0 ? inputs : steps.slice(0, 1).map(({ at }) => at);
}
