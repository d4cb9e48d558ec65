import type { ReactNode } from "react";
import { useHours } from "../../api/queries/overview.ts";
import { formatCount, formatExact, formatShare } from "../../lib/count.ts";
import { Sparkline } from "../../ui/charts/sparkline.tsx";
import { Link } from "../../ui/navigation/link.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import { Time } from "../../ui/text/time.tsx";

/** What was asked and answered in the last 24 hours. */
export function Figures({ from }: { readonly from: string | undefined }) {
  const { data, error, refetch, dataUpdatedAt } = useHours(from);
  if (data === undefined) {
    return error === null ? (
      <Skeleton shape="block" label="The figures are loading" />
    ) : (
      <ErrorCard
        what="The figures could not be loaded"
        error={error}
        onRetry={() => void refetch()}
      />
    );
  }
  const { totals, data: hours } = data;
  const { requests, failures, total_tokens: tokens, refused } = totals;
  return (
    <section aria-labelledby="figures" className="grid gap-2">
      <div className="flex flex-wrap items-baseline gap-x-3">
        <h2 id="figures" className="text-lg">
          Last 24 hours
        </h2>
        {error !== null && (
          <span className="text-sm text-warn">
            As of <Time value={dataUpdatedAt} />: {error.message}
          </span>
        )}
        <span className="ml-auto">
          <Link to="/usage">Show usage</Link>
        </span>
      </div>
      <dl className="grid grid-cols-2 gap-3 lg:grid-cols-4">
        <Figure name="Requests" exact={requests} text={formatCount(requests)}>
          <Sparkline
            label="Requests by hour"
            values={hours.map((hour) => hour.requests)}
            format={formatCount}
          />
        </Figure>
        <Figure name="Tokens" exact={tokens} text={formatCount(tokens)}>
          <Sparkline
            label="Tokens by hour"
            values={hours.map((hour) => hour.total_tokens)}
            format={formatCount}
          />
        </Figure>
        <Figure
          name="Failed"
          exact={failures}
          text={formatShare(requests === 0 ? 0 : failures / requests)}
        >
          <Sparkline
            label="Failed requests by hour"
            values={hours.map((hour) => hour.failures)}
            format={formatCount}
          />
        </Figure>
        <Figure name="Refused" exact={refused ?? 0} text={formatCount(refused ?? 0)}>
          <Sparkline
            label="Calls that a limit refused, by hour"
            values={hours.map((hour) => hour.refused ?? 0)}
            format={formatCount}
          />
        </Figure>
      </dl>
    </section>
  );
}

interface FigureProps {
  readonly name: string;
  readonly exact: number;
  readonly text: string;
  readonly children: ReactNode;
}

function Figure({ name, exact, text, children }: FigureProps) {
  return (
    <div className="grid gap-1 rounded-lg border border-line bg-surface p-3">
      <dt className="text-sm text-muted">{name}</dt>
      <dd className="text-xl font-semibold" title={formatExact(exact)}>
        {text}
      </dd>
      <dd>{children}</dd>
    </div>
  );
}
