import { type EventFilters, type GatewayEvent, useEvents } from "../../api/queries/events.ts";
import { ListView } from "../../parts/list-view.tsx";
import { Combobox } from "../../ui/forms/combobox.tsx";
import { Select } from "../../ui/forms/select.tsx";
import { EmptyState } from "../../ui/status/empty-state.tsx";
import { StatusDot } from "../../ui/status/status-dot.tsx";
import { FilterBar } from "../../ui/tables/filter-bar.tsx";
import type { Column } from "../../ui/tables/table-column.ts";
import { Time } from "../../ui/text/time.tsx";
import { EventPanel } from "./event-panel.tsx";
import { DEFAULTS, labelOfSink, SINK_NAMES, STATES } from "./event-words.ts";

interface EventListProps {
  readonly state: typeof DEFAULTS;
  readonly filters: EventFilters;
  readonly onChange: (change: Partial<typeof DEFAULTS>) => void;
  readonly openId: string | undefined;
  readonly onOpen: (id: string) => void;
  readonly onClose: () => void;
}

/** What is delivered to others, and how far it is. */
export function EventList(props: EventListProps) {
  const { state, filters, onChange, openId, onOpen, onClose } = props;
  const list = useEvents(filters);
  const active = Object.keys(filters).length;
  const kinds = new Set([...list.rows.map(({ kind }) => kind), ...[state.kind].filter(Boolean)]);
  return (
    <div className="grid gap-4">
      <FilterBar active={active} onClear={() => onChange({ ...DEFAULTS, tab: state.tab })}>
        <Select
          label="State"
          value={filters.state ?? ""}
          onChange={(next) => onChange({ state: next })}
          choices={STATE_CHOICES}
        />
        <Select
          label="Sink"
          value={filters.sink ?? ""}
          onChange={(sink) => onChange({ sink })}
          choices={SINK_CHOICES}
        />
        <Combobox
          label="Kind"
          placeholder="Any kind"
          value={state.kind}
          onChange={(kind) => onChange({ kind })}
          choices={[...kinds].map((kind) => ({ value: kind, label: kind }))}
        />
      </FilterBar>
      <div className="flex min-w-0 items-start gap-4">
        <ListView
          label="Events"
          list={list}
          columns={openId === undefined ? COLUMNS : COLUMNS.filter(({ id }) => NARROW.has(id))}
          rowId={({ id }) => id}
          openId={openId}
          onOpen={onOpen}
          empty={
            <EmptyState title={active > 0 ? "No event fits the filters" : "No events yet"}>
              Alerts, messages of workflows and changes of files and datasets are delivered as
              events. One that is given up after its last try stays here as dead.
            </EmptyState>
          }
        />
        {openId !== undefined && <EventPanel key={openId} id={openId} onClose={onClose} />}
      </div>
    </div>
  );
}

const STATE_CHOICES = [
  { value: "", label: "Any state" },
  ...Object.entries(STATES).map(([value, { label }]) => ({ value, label })),
];
const SINK_CHOICES = [
  { value: "", label: "Any sink" },
  ...SINK_NAMES.map((value) => ({ value: value as string, label: labelOfSink(value) })),
];

const NARROW: ReadonlySet<string> = new Set(["kind", "state", "tries"]);
const COLUMNS: ReadonlyArray<Column<GatewayEvent>> = [
  { id: "kind", head: "Kind", cell: ({ kind }) => kind, width: "12rem" },
  { id: "sink", head: "Sink", cell: ({ sink }) => labelOfSink(sink), width: "12rem" },
  {
    id: "state",
    head: "State",
    cell: ({ state }) => <StatusDot tone={STATES[state].tone}>{STATES[state].label}</StatusDot>,
    width: "8rem",
  },
  {
    id: "tries",
    head: "Tries",
    cell: ({ attempts }) => attempts,
    width: "5rem",
    isNumber: true,
  },
  {
    id: "stored",
    head: "Stored",
    cell: ({ created_at: at }) => <Time value={at} isRelative />,
    width: "8rem",
    isWideOnly: true,
  },
  {
    id: "next",
    head: "Next try",
    cell: ({ next_attempt_at: at }) => <Time value={at} isRelative instead="–" />,
    width: "8rem",
  },
  {
    id: "error",
    head: "Last error",
    cell: ({ last_error: error }) => <span title={error ?? undefined}>{error ?? "–"}</span>,
  },
];
