interface SparklineProps {
  /** What it shows, with its unit: "Requests by hour". */
  readonly label: string;
  readonly values: readonly number[];
  readonly format: (value: number) => string;
}

const HEIGHT = 24;
const STEP = 5;
const BAR = 4;

/** A row of small bars beside a figure: how it came about, without an axis. */
export function Sparkline({ label, values, format }: SparklineProps) {
  const most = Math.max(0, ...values);
  const last = values.at(-1) ?? 0;
  return (
    <svg
      role="img"
      aria-label={`${label}: at most ${format(most)}, last ${format(last)}`}
      viewBox={`0 0 ${Math.max(1, values.length * STEP)} ${HEIGHT}`}
      preserveAspectRatio="none"
      className="h-6 w-full text-accent"
    >
      {values.map((value, index) => {
        // What is there is seen, however little it is beside the rest.
        const height = most === 0 || value === 0 ? 1 : Math.max(2, (value / most) * HEIGHT);
        return (
          <rect
            // biome-ignore lint/suspicious/noArrayIndexKey: they have no other name than their place
            key={index}
            x={index * STEP}
            y={HEIGHT - height}
            width={BAR}
            height={height}
            className={value === 0 ? "fill-line" : "fill-current"}
          />
        );
      })}
    </svg>
  );
}
