import "@xyflow/react/dist/base.css";
import "./flow-graph.css";
import {
  type Connection,
  Controls,
  type Edge,
  type EdgeChange,
  MarkerType,
  type Node,
  type NodeChange,
  ReactFlow,
} from "@xyflow/react";
import { useMemo, useState } from "react";
import { type FlowSource, type FlowStep, MAIN } from "../../lib/workflow-graph.ts";
import { type FlowPlaces, NODE, placeSteps, stepsOfTriggers } from "./flow-layout.ts";
import { type FlowNote, StepNode, type StepNodeData, TriggerNode } from "./flow-nodes.tsx";

/** An arrow: what a step reads. */
export interface FlowArrow {
  readonly source: FlowSource;
  /** The place of the step that reads. */
  readonly at: number;
}

export interface FlowGraphProps {
  readonly label: string;
  readonly steps: readonly FlowStep[];
  /** What starts it, in words. */
  readonly triggers: readonly string[];
  readonly outputsOf: (step: FlowStep) => readonly string[];
  readonly noteOf: (step: FlowStep) => FlowNote | undefined;
  /** Rows on the way from a step; undefined where none are known. */
  readonly rowsOf?: (source: FlowSource) => string | undefined;
  readonly selected: number | undefined;
  readonly onSelect: (at: number) => void;
  readonly onTrigger?: ((at: number) => void) | undefined;
  /** Both are left out where nothing can be changed. */
  readonly onConnect?: ((source: FlowSource, at: number) => void) | undefined;
  readonly onDisconnect?: ((arrows: readonly FlowArrow[]) => void) | undefined;
}

const NODE_TYPES = { step: StepNode, trigger: TriggerNode };
const ATTRIBUTION = { hideAttribution: true };
/** Smaller than this nothing can be read: what has no room is moved into sight. */
const FIT = { padding: 0.1, minZoom: 0.6, maxZoom: 1 };
const LONG = 12;

/** Steps as boxes with what they read as arrows: a picture of the definition, which has no places of its own. */
export function FlowGraph(props: FlowGraphProps) {
  const { label, steps, selected, onSelect, onTrigger, onConnect, onDisconnect } = props;
  const nodes = useNodes(props);
  const { edges, choose, forget } = useEdges(props);
  const select = (changes: readonly NodeChange[]) => {
    for (const change of changes) {
      if (change.type !== "select" || !change.selected) continue;
      const at = Number(change.id.slice(1));
      if (change.id.startsWith("t")) onTrigger?.(at);
      else if (at !== selected) onSelect(at);
    }
  };
  const connect = ({ source, sourceHandle, target }: Connection) => {
    const step = steps[Number(source.slice(1))];
    if (step !== undefined && source.startsWith("s")) {
      onConnect?.({ step: step.id, output: sourceHandle ?? MAIN }, Number(target.slice(1)));
    }
  };
  return (
    <section
      aria-label={label}
      className="flow-graph h-[60dvh] min-h-80 min-w-0 overflow-hidden rounded-lg border border-line bg-sunken"
    >
      <ReactFlow
        // Another shape is fitted in again.
        key={`${steps.length} ${props.triggers.length}`}
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        nodesDraggable={false}
        nodesConnectable={onConnect !== undefined}
        edgesReconnectable={false}
        deleteKeyCode={["Delete", "Backspace"]}
        // The keys that delete an arrow are heard everywhere.
        onBlur={({ currentTarget, relatedTarget }) => {
          if (!currentTarget.contains(relatedTarget)) forget();
        }}
        onNodesChange={select}
        onNodeClick={(_, { id }) => {
          forget();
          if (id.startsWith("s")) onSelect(Number(id.slice(1)));
        }}
        onConnect={connect}
        onEdgesChange={choose}
        onEdgesDelete={(gone) =>
          onDisconnect?.(gone.map(({ data }) => data as unknown as FlowArrow))
        }
        proOptions={ATTRIBUTION}
        fitView={steps.length <= LONG}
        fitViewOptions={FIT}
        defaultViewport={{ x: 24, y: 120, zoom: 0.9 }}
        minZoom={0.1}
        maxZoom={1.5}
      >
        <Controls showInteractive={false} fitViewOptions={FIT} />
      </ReactFlow>
    </section>
  );
}

function useNodes(props: FlowGraphProps): Node[] {
  const { steps, triggers, outputsOf, noteOf, selected, onConnect } = props;
  const shape = JSON.stringify(steps.map(({ id, inputs }) => [id, inputs]));
  // biome-ignore lint/correctness/useExhaustiveDependencies: the shape decides over the places
  const places = useMemo(() => placeSteps(steps, triggers.length), [shape, triggers.length]);
  const fixed = { ...NODE, draggable: false, deletable: false };
  return [
    ...triggers.map((text, at) => ({
      ...fixed,
      id: `t${at}`,
      type: "trigger",
      position: places.triggers[at] ?? { x: 0, y: 0 },
      data: { text },
      ariaLabel: `Trigger ${text}`,
      connectable: false,
    })),
    ...steps.map((step) => {
      const outputs = sortOutputs(outputsOf(step), step, steps, places);
      const data: StepNodeData = {
        ...{ id: step.id, kind: step.kind, note: noteOf(step), outputs },
        isConnectable: onConnect !== undefined,
      };
      const said = [step.id, step.kind, data.note?.text, data.note?.detail, data.note?.errors];
      return {
        ...fixed,
        id: `s${step.at}`,
        type: "step",
        position: places.steps[step.at] ?? { x: 0, y: 0 },
        selected: step.at === selected,
        data: { ...data },
        ariaLabel: said.filter(Boolean).join(", "),
      };
    }),
  ];
}

/** Outputs from top to bottom as the steps that read them, so that their arrows do not cross. */
function sortOutputs(
  outputs: readonly string[],
  { id }: FlowStep,
  steps: readonly FlowStep[],
  places: FlowPlaces,
): readonly string[] {
  const heightOf = (output: string) => {
    const reads = (source: FlowSource) => source.step === id && source.output === output;
    const readers = steps.filter(({ inputs }) => inputs.some(reads));
    return Math.min(...readers.map(({ at }) => places.steps[at]?.y ?? 0), Number.MAX_SAFE_INTEGER);
  };
  return outputs.toSorted((left, right) => heightOf(left) - heightOf(right));
}

/** The arrows, of which one can be chosen, as somebody does who wants to delete it. */
function useEdges(props: FlowGraphProps) {
  const [chosen, setChosen] = useState<string>();
  const choose = (changes: readonly EdgeChange[]) => {
    for (const change of changes) {
      if (change.type === "select" && change.selected) setChosen(change.id);
      else if (change.type === "select" || change.type === "remove") {
        setChosen((now) => (now === change.id ? undefined : now));
      }
    }
  };
  return {
    edges: edgesOf(props).map((edge) => ({ ...edge, selected: edge.id === chosen })),
    choose,
    forget: () => setChosen(undefined),
  };
}

function edgesOf({ steps, triggers, rowsOf, onDisconnect }: FlowGraphProps): Edge[] {
  const places = new Map(steps.map(({ id, at }) => [id, at]));
  const markerEnd = { type: MarkerType.ArrowClosed, width: 16, height: 16 };
  const deletable = onDisconnect !== undefined;
  const ofSteps = steps.flatMap(({ id, at, inputs }) =>
    inputs.flatMap((source): Edge[] => {
      const from = places.get(source.step);
      if (from === undefined) return [];
      const output = source.output === MAIN ? "" : source.output;
      const said = [output, rowsOf?.(source)].filter(Boolean).join(" · ");
      return [
        {
          // By names: places move when a step is deleted.
          id: `${source.step} ${source.output} ${id}`,
          source: `s${from}`,
          sourceHandle: source.output,
          target: `s${at}`,
          data: { source, at },
          ...(said !== "" && { label: said }),
          ariaLabel: `From ${source.step} ${output} to ${id}`,
          ...{ markerEnd, deletable, focusable: deletable, selectable: deletable },
        },
      ];
    }),
  );
  const ofTriggers = triggers.flatMap((_, trigger) =>
    stepsOfTriggers(steps).map(
      (at): Edge => ({
        id: `t${trigger} ${at}`,
        source: `t${trigger}`,
        target: `s${at}`,
        ...{ markerEnd, deletable: false, focusable: false, selectable: false },
      }),
    ),
  );
  return [...ofTriggers, ...ofSteps];
}
