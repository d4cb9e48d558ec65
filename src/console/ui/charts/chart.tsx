import { useEffect, useRef, useState } from "react";
import uPlot from "uplot";
import { classes } from "../classes.ts";
import { usePreferences } from "../preferences.ts";
import { drawing, type Series } from "./chart-drawing.ts";
import { ChartTable } from "./chart-table.tsx";

interface ChartProps {
  /** What it shows, with its unit: "Tokens by model and day (UTC)". */
  readonly label: string;
  /** The places on the axis, such as days, as they are read. */
  readonly points: readonly string[];
  /** Eight at most, and a ninth that is the rest. */
  readonly series: readonly Series[];
  readonly kind: "bars" | "lines";
  readonly format: (value: number) => string;
  readonly height?: number;
}

/** Figures over time. Arrow keys read them one by one, and a table has them all. */
export function Chart(props: ChartProps) {
  const { label, points, series, format } = props;
  const [isTable, setTable] = useState(false);
  const [place, setPlace] = useState(Math.max(0, points.length - 1));
  const at = Math.min(place, points.length - 1);
  const reading = series.map(({ name, values }) => `${name} ${format(values[at] ?? 0)}`);
  return (
    <figure className="grid min-w-0 gap-2">
      <figcaption className="flex flex-wrap items-center justify-between gap-2">
        <span className="font-medium">{label}</span>
        <button
          type="button"
          aria-pressed={isTable}
          onClick={() => setTable(!isTable)}
          className="min-h-(--control) px-2 text-accent underline"
        >
          {isTable ? "Show as chart" : "Show as table"}
        </button>
      </figcaption>
      {isTable ? (
        <ChartTable label={label} points={points} series={series} format={format} />
      ) : (
        <>
          <Legend series={series} at={at} point={points[at] ?? ""} format={format} />
          <div
            role="slider"
            tabIndex={0}
            aria-label={`${label}: values`}
            aria-valuemin={0}
            aria-valuemax={Math.max(0, points.length - 1)}
            aria-valuenow={at}
            aria-valuetext={`${points[at] ?? "no values"}: ${reading.join(", ")}`}
            onKeyDown={(event) => {
              const next = placeAfter(event.key, at, points.length);
              if (next === undefined) return;
              event.preventDefault();
              setPlace(next);
            }}
            className="min-w-0 rounded-md"
          >
            <Canvas {...props} at={at} onPoint={setPlace} />
          </div>
        </>
      )}
    </figure>
  );
}

function placeAfter(key: string, at: number, count: number): number | undefined {
  if (key === "ArrowLeft") return Math.max(0, at - 1);
  if (key === "ArrowRight") return Math.min(count - 1, at + 1);
  if (key === "Home") return 0;
  return key === "End" ? count - 1 : undefined;
}

interface LegendProps {
  readonly series: readonly Series[];
  readonly at: number;
  readonly point: string;
  readonly format: (value: number) => string;
}

function Legend({ series, at, point, format }: LegendProps) {
  return (
    <div className="flex flex-wrap gap-x-4 gap-y-1 text-sm">
      <span className="text-muted">{point}</span>
      {series.map(({ name, values }, index) => (
        <span key={name} className="inline-flex items-center gap-1.5">
          <span
            aria-hidden
            className="h-0 w-4 border-t-2"
            style={{
              borderColor: `var(--series-${index + 1})`,
              borderTopStyle: index % 2 === 0 ? "solid" : "dashed",
            }}
          />
          {name} <b className="font-medium">{format(values[at] ?? 0)}</b>
        </span>
      ))}
    </div>
  );
}

interface CanvasProps extends ChartProps {
  readonly at: number;
  readonly onPoint: (index: number) => void;
}

function Canvas(props: CanvasProps) {
  const { points, series, kind, format, height = 200, at, onPoint } = props;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const { theme } = usePreferences();
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const { options, data } = drawing({ element, points, series, kind, format, height, theme });
    const made = new uPlot(
      {
        ...options,
        hooks: { setCursor: [({ cursor }) => cursor.idx != null && onPoint(cursor.idx)] },
      },
      data,
      element,
    );
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [points, series, kind, format, height, theme, onPoint]);
  useEffect(() => {
    const made = plot.current;
    if (made === undefined || made.cursor.idx === at) return;
    made.setCursor({ left: made.valToPos(at, "x"), top: 0 }, false);
  }, [at]);
  return (
    <div
      ref={place}
      aria-hidden
      className={classes("min-w-0 overflow-hidden")}
      style={{ height }}
    />
  );
}
