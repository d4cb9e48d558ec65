interface SkeletonProps {
  /** What is loading, for readers: "Keys are loading". */
  readonly label: string;
  /** The shape: rows of a table, lines of a text, or a block. */
  readonly shape: "rows" | "lines" | "block";
  readonly count?: number;
}

const SHAPES = {
  rows: "h-(--row) border-b border-line",
  lines: "my-1.5 h-4 max-w-prose rounded-md",
  block: "h-40 rounded-lg",
} as const;

/** The shape of what is loading. It appears after 150 ms. */
export function Skeleton({ label, shape, count = shape === "block" ? 1 : 6 }: SkeletonProps) {
  return (
    <div role="status" className="grid">
      <span className="sr-only">{label}</span>
      {Array.from({ length: count }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike
        <div key={index} aria-hidden className={`skeleton bg-sunken ${SHAPES[shape]}`} />
      ))}
    </div>
  );
}
