import { useMemo } from "react";
import { useApiKeyUsage } from "../../api/queries/api-keys.ts";
import { now } from "../../lib/clock.ts";
import { UsageChart } from "../../parts/usage-chart.tsx";
import { Meter } from "../../ui/charts/meter.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import { Count } from "../../ui/text/count.tsx";
import { PropertyList } from "../../ui/text/property-list.tsx";
import { Time } from "../../ui/text/time.tsx";
import { fillDays } from "./fill-days.ts";

type Usage = NonNullable<ReturnType<typeof useApiKeyUsage>["data"]>;

const METERS = [
  ["monthly_tokens", "Tokens this month"],
  ["requests_per_minute", "Calls this minute"],
  ["tokens", "Tokens in all"],
  ["requests", "Calls in all"],
] as const;

/** Where a key's limits stand, and what it has used in the last 30 days. */
export function KeyUsage({ id }: { readonly id: string }) {
  const { data, error, refetch } = useApiKeyUsage(id);
  if (data !== undefined) {
    return (
      <>
        <Meters limits={data.limits} />
        <ByDay days={data.by_day} />
        <ByModel models={data.by_model} />
      </>
    );
  }
  if (error === null) return <Skeleton shape="block" label="The usage is loading" />;
  const what = "The usage could not be loaded";
  return <ErrorCard what={what} error={error} onRetry={() => void refetch()} />;
}

function Meters({ limits }: Pick<Usage, "limits">) {
  const shown = METERS.flatMap(([name, label]) => {
    const use = limits[name];
    return use === undefined ? [] : [{ name, label, use }];
  });
  if (shown.length === 0) return <p className="text-muted">The key has no limits.</p>;
  return (
    <section className="grid gap-4" aria-label="Limits">
      {shown.map(({ name, label, use }) => (
        <div key={name} className="grid gap-1">
          <Meter label={label} used={use.used} reserved={use.reserved} limit={use.limit} />
          <p className="text-sm text-muted">
            <Count value={use.remaining} /> left
            {use.resets_at !== null && (
              <>
                {" "}
                · all of it again <Time value={use.resets_at} isRelative />
              </>
            )}
          </p>
        </div>
      ))}
    </section>
  );
}

function ByDay({ days }: { readonly days: Usage["by_day"] }) {
  // The chart is drawn anew when these change.
  const { points, series } = useMemo(() => {
    const all = fillDays(days, now());
    return {
      points: all.map(({ date }) => date),
      series: [
        { name: "Input", values: all.map((day) => day.input_tokens) },
        { name: "Output", values: all.map((day) => day.output_tokens) },
      ],
    };
  }, [days]);
  if (days.length === 0) {
    return <p className="text-muted">No call was made with it in the last 30 days.</p>;
  }
  return <UsageChart label="Tokens by day (UTC)" points={points} series={series} />;
}

function ByModel({ models }: { readonly models: Usage["by_model"] }) {
  if (models.length === 0) return null;
  return (
    <section className="grid gap-2" aria-labelledby="key-models">
      <h3 id="key-models" className="font-medium">
        Tokens by model, last 30 days
      </h3>
      <PropertyList
        properties={models.map((each) => [
          each.model,
          <Count key={each.model} value={each.input_tokens + each.output_tokens} />,
        ])}
      />
    </section>
  );
}
