import uPlot from "uplot";
import { rootFontSize } from "../root-font-size.ts";

/** One line or one colour of the bars. */
export interface Series {
  readonly name: string;
  /** One for each point; bars are stacked. */
  readonly values: readonly number[];
}

interface Drawing {
  readonly element: HTMLElement;
  readonly points: readonly string[];
  readonly series: readonly Series[];
  readonly kind: "bars" | "lines";
  readonly format: (value: number) => string;
  readonly height: number;
  /** Colours are read from the page, so another theme is another drawing. */
  readonly theme: string;
}

const BAR_SHARE = 0.7;
const BAR_MAX_PX = 40;
/** There is nothing between two points. */
const WHOLE_STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500];

/** Returns what uPlot draws, in the colours of the page. Bars are stacked from the first series up. */
export function drawing(asked: Drawing): { options: uPlot.Options; data: uPlot.AlignedData } {
  const { element, points, series, kind, format, height } = asked;
  const colour = colourReader(element);
  const isBars = kind === "bars";
  const stacked = isBars ? stack(series) : series.map(({ values }) => [...values]);
  // The highest pile is drawn first and the lower ones over it.
  const order = series.map((_, index) => index);
  if (isBars) order.reverse();
  const bars = uPlot.paths.bars?.({ size: [BAR_SHARE, BAR_MAX_PX] });
  // The first and the last bar have their other half beyond their place.
  const room = isBars ? 0.5 : 0;
  const grid = { stroke: colour("--line"), width: 1 };
  const axis = {
    stroke: colour("--muted"),
    grid,
    ticks: { show: false },
    font: `${0.75 * rootFontSize()}px Inter Variable`,
  };
  const options: uPlot.Options = {
    width: element.clientWidth || 300,
    height,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: !isBars } },
    scales: {
      x: { time: false, range: (_, min, max) => [min - room, max + room] },
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.05 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        incrs: WHOLE_STEPS,
        values: (_, at) => at.map((value) => points[value] ?? ""),
      },
      { ...axis, size: 4 * rootFontSize(), values: (_, at) => at.map(format) },
    ],
    series: [
      {},
      ...order.map((index) => ({
        stroke: colour(`--series-${index + 1}`),
        width: isBars ? 0 : 2,
        ...(isBars && { fill: colour(`--series-${index + 1}`) }),
        ...(!isBars && index % 2 === 1 && { dash: [6, 4] }),
        ...(isBars && bars && { paths: bars }),
        points: { show: false },
      })),
    ],
  };
  const places = points.map((_, index) => index);
  const data: uPlot.AlignedData = [places, ...order.map((index) => stacked[index] ?? [])];
  return { options, data };
}

function stack(series: readonly Series[]): number[][] {
  let below: readonly number[] = [];
  return series.map(({ values }) => {
    const piled = values.map((value, index) => value + (below[index] ?? 0));
    below = piled;
    return piled;
  });
}

/** Returns the reader of a token as the page shows it: canvases know neither variables nor `light-dark()`. */
function colourReader(element: HTMLElement): (token: string) => string {
  return (token) => {
    const { color, transition } = element.style;
    // Where motion is reduced every change is a transition, however short: the colour would still be the one before.
    element.style.transition = "none";
    element.style.color = `var(${token})`;
    const colour = getComputedStyle(element).color;
    element.style.color = color;
    element.style.transition = transition;
    return colour;
  };
}
