import { Download } from "lucide-react";
import { useState } from "react";
import {
  type AuditEntry,
  type AuditFilters,
  loadAllAudit,
  useAudit,
} from "../../api/queries/audit.ts";
import { now } from "../../lib/clock.ts";
import { formatExact } from "../../lib/count.ts";
import { toCsv } from "../../lib/tables/csv.ts";
import { stringifySearch } from "../../lib/url-state.ts";
import { ListView } from "../../parts/list-view.tsx";
import { UserPicker } from "../../parts/pickers/user-picker.tsx";
import { CompactButton } from "../../ui/buttons/compact-button.tsx";
import { saveFile } from "../../ui/buttons/save-file.ts";
import { Select } from "../../ui/forms/select.tsx";
import { PageHeader } from "../../ui/navigation/page-header.tsx";
import { useUrlState } from "../../ui/navigation/use-url-state.ts";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { EmptyState } from "../../ui/status/empty-state.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { FilterBar } from "../../ui/tables/filter-bar.tsx";
import type { Column } from "../../ui/tables/table-column.ts";
import { Time } from "../../ui/text/time.tsx";
import { CSV_COLUMNS, detailsOf, toRow } from "./audit-row.ts";
import { TARGET_KINDS } from "./target-kinds.ts";

const DEFAULTS = { action: "", actor: "", kind: "", target: "", days: "" };
const MOST_IN_CSV = 100_000;
const DAY_MS = 24 * 60 * 60 * 1_000;

/** Who changed what, and when. */
export function Page() {
  const [state, change] = useUrlState(DEFAULTS);
  // The day is cut off so that the filter, and with it the query, stays the same while the page is open.
  const [today] = useState(() => Math.floor(now() / DAY_MS) * DAY_MS);
  const filters = toFilters(state, today);
  const list = useAudit(filters);
  const active = Object.values(state).filter((value) => value !== "").length;
  return (
    <>
      <PageHeader title="Audit log">
        <SaveCsv filters={filters} />
        <CallButton
          call={{
            method: "GET",
            path: `/api/admin/audit${stringifySearch(filters)}`,
            credential: "token",
            scope: "audit:read",
          }}
        />
      </PageHeader>
      <FilterBar
        search={{
          label: "Action, as user.create or user.",
          value: state.action,
          onChange: (action) => change({ action }),
        }}
        active={active}
        onClear={() => change(DEFAULTS)}
      >
        <UserPicker
          value={state.actor}
          onChange={(actor) => change({ actor })}
          label="Who"
          placeholder="Anybody"
        />
        <Select
          label="Kind of thing"
          value={state.kind}
          onChange={(kind) => change({ kind })}
          choices={[{ value: "", label: "Everything" }, ...TARGET_KINDS]}
        />
        <Select
          label="When"
          value={state.days}
          onChange={(days) => change({ days })}
          choices={[
            { value: "", label: "Any time" },
            { value: "1", label: "Since yesterday" },
            { value: "7", label: "Last 7 days" },
            { value: "30", label: "Last 30 days" },
          ]}
        />
      </FilterBar>
      <ListView
        label="Audit entries"
        list={list}
        columns={COLUMNS}
        rowId={(entry) => String(entry.id)}
        empty={
          <EmptyState title={active > 0 ? "Nothing fits the filters" : "Nothing has been changed"}>
            Each change of a key, a user, a setting or a license is an entry here, and each login.
          </EmptyState>
        }
      />
    </>
  );
}

const COLUMNS: ReadonlyArray<Column<AuditEntry>> = [
  { id: "action", head: "Action", cell: (entry) => entry.action, width: "14rem" },
  { id: "at", head: "When", cell: ({ at }) => <Time value={at} hasSeconds />, width: "13rem" },
  {
    id: "actor",
    head: "Who",
    cell: ({ actor, via }) => actor?.name ?? actor?.id ?? (via === "service" ? "the gateway" : "–"),
    width: "9rem",
  },
  { id: "via", head: "Through", cell: ({ via }) => via, width: "7rem", isWideOnly: true },
  { id: "address", head: "From", cell: ({ address }) => address ?? "–", width: "9rem" },
  {
    id: "target",
    head: "What",
    cell: ({ target }) => <span title={target.id ?? ""}>{target.id ?? target.kind}</span>,
  },
  {
    id: "details",
    head: "Details",
    cell: (entry) => <span title={detailsOf(entry)}>{detailsOf(entry)}</span>,
  },
];

/** Saves what the filters leave as a file. */
function SaveCsv({ filters }: { readonly filters: AuditFilters }) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const save = async () => {
    setBusy(true);
    setError(undefined);
    try {
      const entries = await loadAllAudit(filters, MOST_IN_CSV);
      saveFile("audit.csv", "text/csv", toCsv(CSV_COLUMNS, entries.map(toRow)));
    } catch (thrown) {
      setError(thrown);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      {error !== undefined && <ErrorCard what="The file could not be made" error={error} />}
      <CompactButton
        icon={Download}
        label={isBusy ? "Collecting…" : "Save CSV"}
        isBusy={isBusy}
        title={`At most ${formatExact(MOST_IN_CSV)} entries`}
        onClick={() => void save()}
      />
    </>
  );
}

function toFilters(state: typeof DEFAULTS, today: number): AuditFilters {
  const from = state.days === "" ? undefined : new Date(today - Number(state.days) * DAY_MS);
  return {
    ...(state.action !== "" && { action: state.action }),
    ...(state.actor !== "" && { actor_id: state.actor }),
    ...(state.target !== "" && { target_id: state.target }),
    ...(state.kind !== "" && { target_kind: state.kind as AuditFilters["target_kind"] & string }),
    ...(from && !Number.isNaN(from.getTime()) && { from: from.toISOString() }),
  };
}
