import { formatBytes, formatCount, formatDuration, formatExact } from "../../lib/count.ts";

interface FigureProps {
  readonly value: number | null | undefined;
  readonly instead?: string;
}

/** `3.5 M`, with the exact number in its title. */
export function Count({ value, instead = "–" }: FigureProps) {
  if (value === null || value === undefined) return <Missing text={instead} />;
  return <span title={formatExact(value)}>{formatCount(value)}</span>;
}

/** `4 MiB`, with the exact number in its title. */
export function Bytes({ value, instead = "–" }: FigureProps) {
  if (value === null || value === undefined) return <Missing text={instead} />;
  return <span title={`${formatExact(value)} bytes`}>{formatBytes(value)}</span>;
}

/** `312 ms`, from milliseconds. */
export function Duration({ value, instead = "–" }: FigureProps) {
  if (value === null || value === undefined) return <Missing text={instead} />;
  return <span title={`${formatExact(value)} ms`}>{formatDuration(value)}</span>;
}

function Missing({ text }: { readonly text: string }) {
  return <span className="text-muted">{text}</span>;
}
