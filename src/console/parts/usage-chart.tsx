import { Suspense } from "react";
import { formatCount } from "../lib/count.ts";
import type { Series } from "../ui/charts/chart-drawing.ts";
import { lazyPart } from "../ui/status/lazy-part.tsx";
import { Skeleton } from "../ui/status/skeleton.tsx";

/** Drawing is a third of what a page may load, and the rest of the page does not wait for it. */
const Chart = lazyPart(async () => (await import("../ui/charts/chart.tsx")).Chart);

interface UsageChartProps {
  /** What it shows, with its unit: "Tokens by day (UTC)". */
  readonly label: string;
  /** The chart is drawn anew when these change. */
  readonly points: readonly string[];
  readonly series: readonly Series[];
  readonly height?: number;
}

/** Usage over time as stacked bars. */
export function UsageChart({ height = 160, ...chart }: UsageChartProps) {
  return (
    <Suspense fallback={<Skeleton shape="block" label="The chart is loading" />}>
      <Chart {...chart} kind="bars" format={formatCount} height={height} />
    </Suspense>
  );
}
