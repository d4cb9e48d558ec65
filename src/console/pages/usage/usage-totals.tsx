import type { ReactNode } from "react";
import type { UsageReport } from "../../api/queries/usage.ts";
import { countOf, formatPercent, formatShare } from "../../lib/count.ts";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import { Count, Duration } from "../../ui/text/count.tsx";

type Totals = UsageReport["totals"];

interface UsageTotalsProps {
  readonly totals: Totals | undefined;
  /** Of the equally long time before; undefined until it is known. */
  readonly before: Totals | undefined;
  readonly days: number;
}

/** What was used in all, and how much more or less that is than in the time before. */
export function UsageTotals({ totals, before, days }: UsageTotalsProps) {
  if (totals === undefined) return <Skeleton shape="lines" count={1} label="Sums are loading" />;
  const { requests, failures, refused, average_latency_ms: average } = totals;
  const change = (name: "total_tokens" | "requests") => (
    <Change now={totals[name]} before={before?.[name]} days={days} />
  );
  return (
    <dl className="flex flex-wrap gap-x-8 gap-y-3">
      <Total name="Tokens" change={change("total_tokens")}>
        <Count value={totals.total_tokens} />
      </Total>
      <Total name="Requests" change={change("requests")}>
        <Count value={requests} />
      </Total>
      <Total name="Failed">{requests === 0 ? "–" : formatShare(failures / requests)}</Total>
      {refused !== null && (
        <Total name="Refused by limits">
          <Count value={refused} />
        </Total>
      )}
      <Total name="Average answer">
        <Duration value={average} />
      </Total>
    </dl>
  );
}

interface TotalProps {
  readonly name: string;
  readonly change?: ReactNode;
  readonly children: ReactNode;
}

function Total({ name, change, children }: TotalProps) {
  return (
    <div className="grid content-start">
      <dt className="text-sm text-muted">{name}</dt>
      <dd className="flex items-baseline gap-2">
        <span className="text-xl font-medium">{children}</span>
        {change}
      </dd>
    </div>
  );
}

interface ChangeProps {
  readonly now: number;
  readonly before: number | undefined;
  readonly days: number;
}

function Change({ now, before, days }: ChangeProps) {
  if (before === undefined) return null;
  const time = days === 1 ? "24 hours" : countOf(days, "day");
  const text = (shown: string, meaning: string) => (
    <span className="text-sm text-muted" title={meaning}>
      <span aria-hidden>{shown}</span>
      <span className="sr-only">{meaning}</span>
    </span>
  );
  if (before === 0) {
    return now === 0 ? null : text("new", `There was nothing in the ${time} before`);
  }
  const share = Math.abs(now - before) / before;
  if (share < 0.005) return text("= same", `As much as in the ${time} before`);
  const arrow = now > before ? "↑" : "↓";
  const word = now > before ? "more" : "less";
  return text(
    `${arrow} ${formatPercent(share)}`,
    `${formatPercent(share)} ${word} than in the ${time} before`,
  );
}
