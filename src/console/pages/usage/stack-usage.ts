import type { UsageReport } from "../../api/queries/usage.ts";
import { formatBar } from "../../lib/range.ts";
import type { Series } from "../../ui/charts/chart-drawing.ts";
import { idOfRow, isGroup, type Metric, nameOfRow } from "./usage-view.ts";

interface Stacked {
  readonly points: readonly string[];
  readonly series: readonly Series[];
}

/**
 * Returns the bars of a chart: the groups with the most, from the largest, and what all the others come to. Undefined
 * while one of the reports is still that of another range.
 *
 * @param whole one row for each bar.
 * @param top the rows of the groups with the most, in the order of the bars.
 */
export function stackUsage(
  whole: UsageReport,
  top: UsageReport,
  metric: Metric,
): Stacked | undefined {
  const [unit, group] = top.group;
  if (unit !== "hour" && unit !== "day" && unit !== "month") return undefined;
  if (whole.group[0] !== unit || whole.from !== top.from || !isGroup(group)) return undefined;
  const all = whole.data;
  const places = new Map(all.map((row, place) => [row[unit], place]));
  const stacks = new Map<string, { name: string; sum: number; values: number[] }>();
  const rest = all.map((row) => row[metric] ?? 0);
  for (const row of top.data) {
    const place = places.get(row[unit]);
    if (place === undefined) continue;
    const id = idOfRow(row, group);
    const stack = stacks.get(id) ?? {
      name: nameOfRow(row, group),
      sum: 0,
      values: all.map(() => 0),
    };
    stacks.set(id, stack);
    const value = row[metric] ?? 0;
    stack.values[place] = value;
    stack.sum += value;
    // The reports are read one after the other: a call between them must not make the rest negative.
    rest[place] = Math.max(0, (rest[place] ?? 0) - value);
  }
  const series = [...stacks.values()].sort((one, other) => other.sum - one.sum);
  const hasRest = rest.some((value) => value > 0);
  return {
    points: all.map((row) => formatBar(row[unit] ?? "", unit)),
    series: [
      ...uniquelyNamed(series),
      ...(hasRest ? [{ name: series.length === 0 ? "All" : "The rest", values: rest }] : []),
    ],
  };
}

/** Two keys may have the same name; the legend counts them. */
function uniquelyNamed(series: readonly Series[]): Series[] {
  const seen = new Map<string, number>();
  return series.map(({ name, values }) => {
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    return { name: count === 1 ? name : `${name} (${count})`, values };
  });
}
