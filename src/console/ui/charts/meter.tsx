import { Meter as Base } from "@base-ui/react/meter";
import { formatCount, formatExact, formatPercent } from "../../lib/count.ts";
import { classes } from "../classes.ts";

interface MeterProps {
  readonly label: string;
  readonly used: number;
  /** Held by what is under way. */
  readonly reserved?: number;
  readonly limit: number;
  /** In a row of a table: the bar and the share alone. */
  readonly isSmall?: boolean;
}

const NEARLY = 0.9;

/** How much of a limit is used. */
export function Meter({ label, used, reserved = 0, limit, isSmall = false }: MeterProps) {
  const taken = used + reserved;
  const share = limit === 0 ? 1 : taken / limit;
  const exact = `${formatExact(used)} of ${formatExact(limit)}`;
  return (
    <Base.Root
      value={Math.min(taken, limit)}
      max={limit || 1}
      aria-valuetext={`${exact}, ${formatPercent(share)}`}
      className={isSmall ? "flex items-center gap-2" : "grid grid-cols-[1fr_auto] gap-x-4 gap-y-1"}
    >
      <Base.Label className={classes(isSmall && "sr-only")}>{label}</Base.Label>
      {!isSmall && (
        <span title={exact}>
          {formatCount(used)} of {formatCount(limit)}
          {reserved > 0 && ` · ${formatCount(reserved)} reserved`}
        </span>
      )}
      <Base.Track
        className={classes(
          "block h-1.5 overflow-hidden rounded-full bg-line",
          isSmall ? "w-20" : "col-span-2",
        )}
      >
        <Base.Indicator className={`block h-full rounded-full ${toneOf(share)}`} />
      </Base.Track>
      {isSmall && <span title={exact}>{formatPercent(share)}</span>}
    </Base.Root>
  );
}

function toneOf(share: number): string {
  if (share >= 1) return "bg-bad";
  return share >= NEARLY ? "bg-warn" : "bg-accent";
}
