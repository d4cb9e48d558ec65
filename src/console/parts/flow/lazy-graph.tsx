import { Suspense } from "react";
import { lazyPart } from "../../ui/status/lazy-part.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import type { FlowGraphProps } from "./flow-graph.tsx";

/** Drawing is large, and small screens show the list. */
const FlowGraph = lazyPart(async () => (await import("./flow-graph.tsx")).FlowGraph);

export function LazyGraph(props: FlowGraphProps) {
  return (
    <Suspense fallback={<Skeleton shape="block" label={`${props.label} is loading`} />}>
      <FlowGraph {...props} />
    </Suspense>
  );
}
