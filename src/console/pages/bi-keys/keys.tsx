import type { ReactNode } from "react";
import { type BiKey, type IssuedBiKey, useBiKeys } from "../../api/queries/bi-keys.ts";
import { KeyState } from "../../parts/credentials/key-state.tsx";
import { ListView } from "../../parts/list-view.tsx";
import { useOpenRow } from "../../ui/navigation/use-open-row.ts";
import { EmptyState } from "../../ui/status/empty-state.tsx";
import { FilterBar } from "../../ui/tables/filter-bar.tsx";
import type { Column } from "../../ui/tables/table-column.ts";
import { Count } from "../../ui/text/count.tsx";
import { Time } from "../../ui/text/time.tsx";
import { IssueDialog } from "./key-dialogs.tsx";
import { tablesOf } from "./key-draft.ts";
import { KeyPanel } from "./key-panel.tsx";

interface KeysProps {
  readonly search: string;
  readonly onSearch: (search: string) => void;
  readonly isIssuing: boolean;
  readonly onIssuing: (isIssuing: boolean) => void;
  readonly onIssued: (issued: IssuedBiKey) => void;
  readonly newKey: ReactNode;
}

/** The BI keys, one of them open, and the form of a new one. */
export function Keys(props: KeysProps) {
  const { openId, open, close } = useOpenRow("bi-keys");
  const { search, onSearch, isIssuing, onIssuing, onIssued, newKey } = props;
  const isFiltered = search !== "";
  const list = useBiKeys(isFiltered ? { search } : {});
  return (
    <div className="grid min-w-0 gap-4">
      <FilterBar
        search={{
          label: "Name, id or last four",
          value: search,
          onChange: onSearch,
        }}
        active={isFiltered ? 1 : 0}
        onClear={() => onSearch("")}
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
      <IssueDialog isOpen={isIssuing} onClose={() => onIssuing(false)} onIssued={onIssued} />
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
