import { Plus } from "lucide-react";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { type BiKey, type IssuedBiKey, useBiKeys } from "../../api/queries/bi-keys.ts";
import { stringifySearch } from "../../lib/url-state.ts";
import { KeyState } from "../../parts/key-state.tsx";
import { ListView } from "../../parts/list-view.tsx";
import { Button } from "../../ui/button.tsx";
import { CallButton } from "../../ui/call-dialog.tsx";
import { Count } from "../../ui/count.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { FilterBar } from "../../ui/filter-bar.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import type { Column } from "../../ui/table-column.ts";
import { Tabs } from "../../ui/tabs.tsx";
import { Time } from "../../ui/time.tsx";
import { useKeys } from "../../ui/use-keys.ts";
import { useOpenRow } from "../../ui/use-open-row.ts";
import { useUrlState } from "../../ui/use-url-state.ts";
import { IssuedDialog } from "./issued-dialog.tsx";
import { IssueDialog } from "./key-dialogs.tsx";
import { tablesOf } from "./key-draft.ts";
import { KeyPanel } from "./key-panel.tsx";
import { toStatementFilters } from "./statement-outcome.tsx";

// Their pickers are large, and the list does not need them.
const Statements = lazy(async () => ({ default: (await import("./statements.tsx")).Statements }));
const DataTest = lazy(async () => ({ default: (await import("./data-test.tsx")).DataTest }));

const DEFAULTS = { view: "keys", search: "", key: "", outcome: "" };
type State = typeof DEFAULTS;

/** The keys with which reports read data: what each may read, what was asked, and a try from here. */
export function Page() {
  const [state, change] = useUrlState(DEFAULTS);
  const [isIssuing, setIssuing] = useState(false);
  // The secret is here and nowhere else, and gone with the page.
  const [issued, setIssued] = useState<IssuedBiKey>();
  useKeys([{ keys: "n", label: "New BI key", run: () => setIssuing(true) }]);
  const newKey = (
    <Button look="primary" onClick={() => setIssuing(true)}>
      <Plus size={16} aria-hidden />
      New BI key
    </Button>
  );
  const tabs = [
    {
      id: "keys",
      label: "Keys",
      content: <Keys state={state} onChange={change} onIssued={setIssued} newKey={newKey} />,
    },
    {
      id: "statements",
      label: "Statements",
      content: <Statements state={{ key: state.key, outcome: state.outcome }} onChange={change} />,
    },
    {
      id: "test",
      label: "Test from here",
      content: (
        <Suspense fallback={<Skeleton shape="block" label="The test is loading" />}>
          <DataTest />
        </Suspense>
      ),
    },
  ];
  const view = tabs.some(({ id }) => id === state.view) ? state.view : "keys";
  return (
    <>
      <PageHeader title="BI keys">
        {newKey}
        <CallButton call={callOf({ ...state, view })} />
      </PageHeader>
      <Tabs label="BI keys" tabs={tabs} value={view} onChange={(id) => change({ view: id })} />
      <IssueDialog isOpen={isIssuing} onClose={() => setIssuing(false)} onIssued={setIssued} />
      <IssuedDialog issued={issued} onClose={() => setIssued(undefined)} />
    </>
  );
}

function callOf(state: State) {
  const get = { method: "GET", credential: "token" } as const;
  if (state.view === "test") return { ...get, path: "/v1/data", credential: "bi" } as const;
  if (state.view === "keys")
    return { ...get, path: `/v1/bi-keys${stringifySearch(toFilters(state))}` };
  const filters = stringifySearch(toStatementFilters(state));
  return { ...get, path: `/api/admin/bi/statements${filters}` };
}

function toFilters({ search }: State): { search?: string } {
  return search === "" ? {} : { search };
}

interface KeysProps {
  readonly state: State;
  readonly onChange: (change: Partial<State>) => void;
  readonly onIssued: (issued: IssuedBiKey) => void;
  readonly newKey: ReactNode;
}

function Keys({ state, onChange, onIssued, newKey }: KeysProps) {
  const { openId, open, close } = useOpenRow("bi-keys");
  const list = useBiKeys(toFilters(state));
  const isFiltered = state.search !== "";
  return (
    <div className="grid min-w-0 gap-4">
      <FilterBar
        search={{
          label: "Name, id or last four",
          value: state.search,
          onChange: (search) => onChange({ search }),
        }}
        active={isFiltered ? 1 : 0}
        onClear={() => onChange({ search: "" })}
      />
      <div className="flex min-w-0 items-start gap-4">
        <ListView
          label="BI keys"
          list={list}
          columns={openId === undefined ? COLUMNS : COLUMNS.filter(({ id }) => NARROW.has(id))}
          rowId={({ id }) => id}
          openId={openId}
          onOpen={open}
          empty={
            <EmptyState
              title={isFiltered ? "No BI key fits the search" : "No BI keys yet"}
              action={isFiltered ? undefined : newKey}
            >
              A BI key reads usage, runs and datasets, over HTTP or as a PostgreSQL database. It
              opens nothing else.
            </EmptyState>
          }
        />
        {openId !== undefined && (
          <KeyPanel key={openId} id={openId} onClose={close} onIssued={onIssued} />
        )}
      </div>
    </div>
  );
}

const NARROW: ReadonlySet<string> = new Set(["name", "state", "used"]);
const COLUMNS: ReadonlyArray<Column<BiKey>> = [
  { id: "name", head: "Name", cell: ({ name }) => name, width: "14rem" },
  {
    id: "key",
    head: "Key",
    cell: (key) => <code className="font-mono text-sm">{`${key.prefix}…${key.last_four}`}</code>,
    width: "7rem",
    isWideOnly: true,
  },
  { id: "state", head: "State", cell: (key) => <KeyState apiKey={key} />, width: "7rem" },
  {
    id: "tables",
    head: "Tables",
    cell: (key) => <span title={tablesOf(key)}>{tablesOf(key)}</span>,
  },
  {
    id: "rows",
    head: "Rows a statement",
    cell: (key) => <Count value={key.row_limit} />,
    isNumber: true,
    width: "9rem",
    isWideOnly: true,
  },
  {
    id: "used",
    head: "Last used",
    cell: (key) => <Time value={key.last_used_at} isRelative />,
    width: "8rem",
  },
  {
    id: "expires",
    head: "Expires",
    cell: (key) => <Time value={key.expires_at} isRelative />,
    width: "8rem",
  },
];
