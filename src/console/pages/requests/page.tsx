import { Pause, Radio, X } from "lucide-react";
import { useLatestRequests, useRequests } from "../../api/queries/requests.ts";
import { CHANNEL_NAMES } from "../../lib/clients/channels.ts";
import { countOf } from "../../lib/count.ts";
import { stringifySearch } from "../../lib/url-state.ts";
import { ListView } from "../../parts/list-view.tsx";
import { KeyPicker } from "../../parts/pickers/key-picker.tsx";
import { UsedModelPicker } from "../../parts/pickers/used-model-picker.tsx";
import { UserPicker } from "../../parts/pickers/user-picker.tsx";
import { SaveCsv } from "../../parts/save-csv.tsx";
import { Button } from "../../ui/buttons/button.tsx";
import { CompactButton } from "../../ui/buttons/compact-button.tsx";
import { Select } from "../../ui/forms/select.tsx";
import { Link } from "../../ui/navigation/link.tsx";
import { PageHeader } from "../../ui/navigation/page-header.tsx";
import { useOpenRow } from "../../ui/navigation/use-open-row.ts";
import { useUrlState } from "../../ui/navigation/use-url-state.ts";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { EmptyState } from "../../ui/status/empty-state.tsx";
import { FilterBar } from "../../ui/tables/filter-bar.tsx";
import { useNow } from "../../ui/text/time.tsx";
import { useKeys } from "../../ui/use-keys.ts";
import { requestColumns } from "./request-columns.tsx";
import { countActive, DEFAULTS, OUTCOMES, toFilters, type ViewState } from "./request-filters.ts";
import { RequestPanel, Unknown } from "./request-panel.tsx";

const CSV_PAGE = 1_000;

/** Single requests: who called what, how it went and how long it took. */
export function Page() {
  const [state, change] = useUrlState(DEFAULTS);
  const { openId, open, close } = useOpenRow("requests");
  const filters = toFilters(state, useNow());
  const isLive = state.live === "1";
  const pages = useRequests(filters, !isLive);
  const latest = useLatestRequests(filters, isLive);
  const list = isLive ? latest : pages;
  const toggle = () => change({ live: isLive ? "" : "1" });
  useKeys([{ keys: "l", label: "Follow new requests, or stop it", run: toggle }]);
  return (
    <>
      <PageHeader title="Requests">
        <CompactButton
          icon={isLive ? Pause : Radio}
          label={isLive ? "Stop following" : "Follow new ones"}
          onClick={toggle}
        />
        <SaveCsv path="/api/requests" query={filters} name="requests" pageRows={CSV_PAGE} />
        <CallButton
          call={{
            method: "GET",
            path: `/api/requests${stringifySearch(filters)}`,
            credential: "token",
            scope: "requests:read",
          }}
        />
      </PageHeader>
      <Filters state={state} onChange={change} />
      {isLive && (
        <p role="status" className="text-sm text-muted">
          Following: the newest 100, each second while this tab is seen.
        </p>
      )}
      <div className="flex min-w-0 flex-1 items-start gap-4">
        <ListView
          label="Requests"
          list={list}
          columns={requestColumns(openId !== undefined)}
          rowId={({ id }) => id}
          openId={openId}
          onOpen={open}
          empty={<Empty state={state} />}
        />
        {openId !== undefined && <RequestPanel key={openId} id={openId} onClose={close} />}
      </div>
    </>
  );
}

function Empty({ state }: { readonly state: ViewState }) {
  if (state.id !== "") return <Unknown />;
  const isFiltered = countActive(state) > 0;
  return (
    <EmptyState
      title={isFiltered ? "No request fits the filters" : "No requests yet"}
      action={isFiltered ? undefined : <Link to="/keys">Go to the API keys</Link>}
    >
      Each call with an API key is a row here about a second after it has ended, without its words.
      Calls that were refused and chats of this console leave none.
    </EmptyState>
  );
}

interface FiltersProps {
  readonly state: ViewState;
  readonly onChange: (change: Partial<ViewState>) => void;
}

function Filters({ state, onChange }: FiltersProps) {
  return (
    <FilterBar
      search={{
        label: "Request id",
        value: state.id,
        onChange: (id) => onChange({ id: id.trim() }),
      }}
      active={countActive(state)}
      onClear={() => onChange({ ...DEFAULTS, live: state.live })}
    >
      <Select
        label="When"
        value={state.range}
        onChange={(range) => onChange({ range, until: "" })}
        choices={rangesWith(state)}
      />
      <Select
        label="Outcome"
        value={state.outcome}
        onChange={(outcome) => onChange({ outcome })}
        choices={OUTCOME_CHOICES}
      />
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
        value={state.channel}
        onChange={(channel) => onChange({ channel })}
        choices={CHANNELS}
      />
      <Select
        label="Status"
        value={state.status}
        onChange={(status) => onChange({ status })}
        choices={statusesWith(state.status)}
      />
      {(["assistant", "run"] as const).map(
        (name) =>
          state[name] !== "" && (
            <Button key={name} onClick={() => onChange({ [name]: "" })}>
              <span className="max-w-48 truncate">
                Of {name} {state[name]}
              </span>
              <X size={14} aria-label="any" />
            </Button>
          ),
      )}
    </FilterBar>
  );
}

const CHANNELS = [
  { value: "", label: "Any channel" },
  ...Object.entries(CHANNEL_NAMES).map(([value, label]) => ({ value, label })),
];
const OUTCOME_CHOICES = [
  { value: "", label: "Any outcome" },
  ...Object.entries(OUTCOMES).map(([value, { label }]) => ({ value, label })),
];
const STATUSES = ["200", "400", "429", "499", "500", "502", "503", "504"];
const RANGES = [
  { value: "", label: "Any time" },
  { value: "1", label: "Last 24 hours" },
  { value: "7", label: "Last 7 days" },
  { value: "30", label: "Last 30 days" },
];

/** A link may name a status or a range that is not in the list. */
function statusesWith(status: string) {
  const all = status === "" || STATUSES.includes(status) ? STATUSES : [...STATUSES, status];
  return [
    { value: "", label: "Any status" },
    ...all.map((value) => ({ value, label: `Status ${value}` })),
  ];
}

function rangesWith({ range, until }: ViewState) {
  if (until === "" && RANGES.some(({ value }) => value === range)) return RANGES;
  const days = /^\d+$/.test(range) ? countOf(Number(range), "day") : range;
  const label = until === "" ? `Last ${days}` : `${days} until ${until}`;
  return [...RANGES.filter(({ value }) => value !== range), { value: range, label }];
}
