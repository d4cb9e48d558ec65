import { useMemo } from "react";
import { useSession } from "../../api/queries/session.ts";
import { useUsageReport, useUsageRows } from "../../api/queries/usage.ts";
import { CHANNEL_NAMES } from "../../lib/clients/channels.ts";
import { type Range, readRange } from "../../lib/range.ts";
import { formatDay } from "../../lib/time.ts";
import { stringifySearch } from "../../lib/url-state.ts";
import { ListView } from "../../parts/list-view.tsx";
import { KeyPicker } from "../../parts/pickers/key-picker.tsx";
import { RangePicker } from "../../parts/pickers/range-picker.tsx";
import { UsedModelPicker } from "../../parts/pickers/used-model-picker.tsx";
import { UserPicker } from "../../parts/pickers/user-picker.tsx";
import { SaveCsv } from "../../parts/save-csv.tsx";
import { UsageChart } from "../../parts/usage-chart.tsx";
import { Select } from "../../ui/forms/select.tsx";
import { Link } from "../../ui/navigation/link.tsx";
import { PageHeader } from "../../ui/navigation/page-header.tsx";
import { useUrlState } from "../../ui/navigation/use-url-state.ts";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { EmptyState } from "../../ui/status/empty-state.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import { FilterBar } from "../../ui/tables/filter-bar.tsx";
import { useNow } from "../../ui/text/time.tsx";
import { stackUsage } from "./stack-usage.ts";
import { usageColumns } from "./usage-columns.tsx";
import { UsageTotals } from "./usage-totals.tsx";
import {
  DEFAULTS,
  GROUPS,
  idOfRow,
  labelOfMetric,
  METRICS,
  readView,
  type UsageView,
  type ViewState,
} from "./usage-view.ts";

const TOP = 8;
const CSV_PAGE = 10_000;
const CHART_ROWS = 1_000;

/** What was used, of what and by whom. */
export function Page() {
  const [state, change] = useUrlState(DEFAULTS);
  const now = useNow();
  const range = readRange(state, now);
  const view = readView(state, range);
  const table = { ...view.query, group: view.group, sort: view.sort };
  const list = useUsageRows(table, range.isLive);
  const days = `${formatDay(range.from, "utc")} – ${formatDay(Date.parse(range.to) - 1, "utc")}`;
  return (
    <>
      <PageHeader title="Usage" aside={`${days}. Days are UTC.`}>
        <SaveCsv
          path="/api/usage"
          query={table}
          name={`usage-by-${view.group}-${range.firstDay}-to-${range.lastDay}`}
          pageRows={CSV_PAGE}
        />
        <CallButton
          call={{
            method: "GET",
            path: `/api/usage${stringifySearch(table)}`,
            credential: "token",
            scope: "usage:read",
          }}
        />
      </PageHeader>
      <Filters state={state} view={view} now={now} onChange={change} />
      <Figures view={view} range={range} />
      <ListView
        label={labelOfTable(view)}
        list={list}
        columns={usageColumns(view.group, state)}
        rowId={(row) => idOfRow(row, view.group)}
        sort={`-${view.sort}`}
        onSort={(sort) => change({ sort: sort.replace("-", "") })}
        empty={
          <EmptyState
            title="Nothing was used in this time"
            action={<Link to="/keys">Go to the API keys</Link>}
          >
            Each call with an API key is counted here about a second after it has ended. Chats of
            this console are not counted.
          </EmptyState>
        }
      />
    </>
  );
}

interface FiltersProps {
  readonly state: ViewState;
  readonly view: UsageView;
  readonly now: number;
  readonly onChange: (change: Partial<ViewState>) => void;
}

function Filters({ state, view, now, onChange }: FiltersProps) {
  const isAdmin = useSession().data?.role === "admin";
  const filters = [state.key, state.user, state.model, state.channel];
  return (
    <div className="flex flex-wrap items-center gap-2">
      <RangePicker value={state} onChange={onChange} now={now} />
      <Select
        label="Told apart"
        value={view.group}
        onChange={(by) => onChange({ by, sort: "" })}
        choices={GROUPS.filter(({ value }) => value !== "user" || isAdmin)}
      />
      <Select
        label="Figure"
        value={view.metric}
        onChange={(metric) => onChange({ metric, sort: "" })}
        choices={METRICS}
      />
      <FilterBar
        active={filters.filter((value) => value !== "").length}
        onClear={() => onChange({ key: "", user: "", model: "", channel: "" })}
      >
        <KeyPicker
          label="Key"
          placeholder="Any key"
          value={state.key}
          onChange={(key) => onChange({ key })}
        />
        <UserPicker
          label="User"
          placeholder="Any user"
          value={state.user}
          onChange={(user) => onChange({ user })}
        />
        <UsedModelPicker value={state.model} onChange={(model) => onChange({ model })} />
        <Select
          label="Channel"
          value={view.query.channel ?? ""}
          onChange={(channel) => onChange({ channel })}
          choices={CHANNELS}
        />
      </FilterBar>
    </div>
  );
}

const CHANNELS = [
  { value: "", label: "Any channel" },
  ...Object.entries(CHANNEL_NAMES).map(([value, label]) => ({ value, label })),
];

/** The sums of the range and its chart. */
function Figures({ view, range }: { readonly view: UsageView; readonly range: Range }) {
  const { query, group, metric } = view;
  const { unit, isLive } = range;
  const whole = useUsageReport({ ...query, group: unit, limit: CHART_ROWS }, isLive);
  const top = useUsageReport(
    { ...query, group: `${unit},${group}`, sort: metric, top: TOP, limit: CSV_PAGE },
    isLive,
  );
  const before = useUsageReport({ ...query, ...range.before, group: "channel", limit: 1 }, false);
  const stacked = useMemo(() => {
    if (whole.data === undefined || top.data === undefined) return undefined;
    return stackUsage(whole.data, top.data, metric);
  }, [whole.data, top.data, metric]);
  const error = whole.error ?? top.error;
  const retry = () => {
    void whole.refetch();
    void top.refetch();
  };
  return (
    <>
      {error !== null && (
        <ErrorCard what="The usage could not be loaded" error={error} onRetry={retry} />
      )}
      {(whole.data !== undefined || error === null) && (
        <UsageTotals totals={whole.data?.totals} before={before.data?.totals} days={range.days} />
      )}
      {stacked === undefined && error === null && (
        <Skeleton shape="block" label="The chart is loading" />
      )}
      {stacked !== undefined && stacked.series.length > 0 && (
        <UsageChart label={labelOfChart(view, unit)} {...stacked} height={220} />
      )}
    </>
  );
}

function labelOfChart({ group, metric }: UsageView, unit: Range["unit"]): string {
  return `${labelOfMetric(metric)} by ${group} and ${unit} (UTC)`;
}

function labelOfTable({ group }: UsageView): string {
  return `Figures by ${group}`;
}
