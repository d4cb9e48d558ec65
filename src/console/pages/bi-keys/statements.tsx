import { useState } from "react";
import {
  type BiStatement,
  useBiKey,
  useBiKeys,
  useBiStatements,
} from "../../api/queries/bi-keys.ts";
import { UserName } from "../../parts/accounts/user-name.tsx";
import { ListView } from "../../parts/list-view.tsx";
import { Combobox } from "../../ui/forms/combobox.tsx";
import { Dialog } from "../../ui/overlays/dialog.tsx";
import { EmptyState } from "../../ui/status/empty-state.tsx";
import { FilterBar } from "../../ui/tables/filter-bar.tsx";
import type { Column } from "../../ui/tables/table-column.ts";
import { CodeBlock } from "../../ui/text/code-block.tsx";
import { Bytes, Count, Duration } from "../../ui/text/count.tsx";
import { PropertyList } from "../../ui/text/property-list.tsx";
import { Time } from "../../ui/text/time.tsx";
import {
  OUTCOME_CHOICES,
  StatementOutcome,
  type StatementState,
  toStatementFilters,
} from "./statement-outcome.tsx";

interface StatementsProps {
  readonly state: StatementState;
  readonly onChange: (change: Partial<StatementState>) => void;
}

/** Who asked what of the data, and how it ended; without the values of the statements. */
export function Statements({ state, onChange }: StatementsProps) {
  const list = useBiStatements(toStatementFilters(state));
  const [openId, setOpen] = useState<string>();
  const opened = list.rows.find(({ id }) => id === openId);
  const active = Object.values(state).filter((value) => value !== "").length;
  return (
    <div className="grid gap-4">
      <FilterBar active={active} onClear={() => onChange({ key: "", outcome: "" })}>
        <KeyPicker value={state.key} onChange={(key) => onChange({ key })} />
        <Combobox
          label="Outcome"
          placeholder="Any outcome"
          value={state.outcome}
          onChange={(outcome) => onChange({ outcome })}
          choices={OUTCOME_CHOICES}
        />
      </FilterBar>
      <ListView
        label="Statements"
        list={list}
        columns={COLUMNS}
        rowId={({ id }) => id}
        onOpen={setOpen}
        empty={
          <EmptyState title={active > 0 ? "No statement fits the filters" : "No statements yet"}>
            Each statement of a BI key or a session leaves a line here for 30 days, without its
            values.
          </EmptyState>
        }
      />
      <Dialog
        isOpen={opened !== undefined}
        onClose={() => setOpen(undefined)}
        title="A statement"
        isWide
      >
        {opened !== undefined && <Opened line={opened} />}
      </Dialog>
    </div>
  );
}

/** All of a statement, with what became of it. */
function Opened({ line }: { readonly line: BiStatement }) {
  return (
    <>
      <CodeBlock label="The statement" text={line.statement} isWrapped />
      <PropertyList
        properties={[
          ["Who", <Principal key="who" id={line.principal_id} />],
          ["Through", VIA[line.via]],
          ["Outcome", <StatementOutcome key="outcome" line={line} />],
          ["Rows", <Count key="rows" value={line.rows} />],
          ["Size", <Bytes key="bytes" value={line.bytes} />],
          ["Took", <Duration key="took" value={line.milliseconds} />],
          ["When", <Time key="when" value={line.started_at} hasSeconds />],
        ]}
      />
    </>
  );
}

function KeyPicker({
  value,
  onChange,
}: {
  readonly value: string;
  readonly onChange: (id: string) => void;
}) {
  const [typed, setTyped] = useState("");
  const { rows, isLoading } = useBiKeys(typed === "" ? {} : { search: typed });
  const isKnown = value === "" || rows.some(({ id }) => id === value);
  const chosen = useBiKey(value, !isKnown && value.startsWith("bik_")).data;
  const shown = chosen === undefined || isKnown ? rows : [chosen, ...rows];
  return (
    <Combobox
      label="BI key"
      placeholder="Any key or session"
      value={value}
      onChange={onChange}
      choices={shown.map(({ id, name }) => ({ value: id, label: name }))}
      onSearch={setTyped}
      isLoading={isLoading}
    />
  );
}

const VIA = { port: "PostgreSQL port", query: "Query", list: "Table" } as const;

/** Who asked: a key by its name, a session by its user's. */
function Principal({ id }: { readonly id: string }) {
  const isKey = id.startsWith("bik_");
  const { data, isError } = useBiKey(id, isKey);
  if (!isKey) return <UserName id={id} />;
  return <span title={id}>{data?.name ?? (isError ? "a revoked key" : id)}</span>;
}

const COLUMNS: ReadonlyArray<Column<BiStatement>> = [
  {
    id: "statement",
    head: "Statement",
    cell: ({ statement }) => (
      <code className="font-mono text-sm" title={statement}>
        {statement}
      </code>
    ),
    width: "22rem",
  },
  {
    id: "who",
    head: "Who",
    cell: ({ principal_id: id }) => <Principal id={id} />,
  },
  { id: "via", head: "Through", cell: ({ via }) => VIA[via], width: "9rem", isWideOnly: true },
  {
    id: "outcome",
    head: "Outcome",
    cell: (line) => <StatementOutcome line={line} />,
    width: "9rem",
  },
  {
    id: "rows",
    head: "Rows",
    cell: ({ rows }) => <Count value={rows} />,
    isNumber: true,
    width: "5rem",
  },
  {
    id: "bytes",
    head: "Size",
    cell: ({ bytes }) => <Bytes value={bytes} />,
    isNumber: true,
    width: "6rem",
    isWideOnly: true,
  },
  {
    id: "took",
    head: "Took",
    cell: ({ milliseconds }) => <Duration value={milliseconds} />,
    isNumber: true,
    width: "6rem",
  },
  {
    id: "when",
    head: "When",
    cell: ({ started_at: at }) => <Time value={at} isRelative />,
    width: "8rem",
  },
];
