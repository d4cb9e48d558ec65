import { memo, useSyncExternalStore } from "react";
import { now, onClock } from "../lib/clock.ts";
import { formatRelative, formatTime, formatUtc } from "../lib/time.ts";
import { usePreferences } from "./preferences.ts";

const TICK_MS = 10_000;

interface TimeProps {
  /** RFC 3339 or Unix milliseconds; null shows `instead`. */
  readonly value: string | number | null | undefined;
  /** "2 min ago" rather than the date; the whole time is in the title either way. */
  readonly isRelative?: boolean;
  readonly hasSeconds?: boolean;
  readonly instead?: string;
}

/** A time, in the zone that the person chose, with the UTC time in its title. */
export const Time = memo(function Time(props: TimeProps) {
  const { value, isRelative, hasSeconds = false, instead = "never" } = props;
  const { zone } = usePreferences();
  const at = useNow();
  if (value === null || value === undefined) return <span className="text-muted">{instead}</span>;
  return (
    <time dateTime={new Date(value).toISOString()} title={formatUtc(value)}>
      {isRelative ? formatRelative(value, at, zone) : formatTime(value, zone, hasSeconds)}
    </time>
  );
});

let shown = now();
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** Returns the time in Unix milliseconds, every ten seconds anew. One timer serves the page. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => shown);
}

onClock(tick);

function tick(): void {
  shown = now();
  for (const each of listeners) each();
}

function subscribe(listener: () => void): () => void {
  // Nobody kept the time while nothing showed one.
  if (listeners.size === 0) shown = now();
  listeners.add(listener);
  timer ??= setInterval(tick, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}
