import { ArrowLeft, Download, Upload } from "lucide-react";
import { useState } from "react";
import {
  type Dataset,
  filteredRowsPath,
  rowsAddress,
  useDataset,
} from "../../api/queries/datasets.ts";
import { useSession } from "../../api/queries/session.ts";
import { wordFor } from "../../lib/count.ts";
import { isFiltered } from "../../lib/tables/row-filter.ts";
import { UserName } from "../../parts/accounts/user-name.tsx";
import { Button } from "../../ui/buttons/button.tsx";
import { downloadFrom } from "../../ui/buttons/save-file.ts";
import { Link } from "../../ui/navigation/link.tsx";
import { PageHeader } from "../../ui/navigation/page-header.tsx";
import { Tabs } from "../../ui/navigation/tabs.tsx";
import { useUrlState } from "../../ui/navigation/use-url-state.ts";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { Menu } from "../../ui/overlays/menu.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import { Table } from "../../ui/tables/table.tsx";
import type { Column } from "../../ui/tables/table-column.ts";
import { Count } from "../../ui/text/count.tsx";
import { PropertyList } from "../../ui/text/property-list.tsx";
import { Time } from "../../ui/text/time.tsx";
import { useKeys } from "../../ui/use-keys.ts";
import { COLUMN_TYPES } from "./column-fields.tsx";
import { ChangeDialog, DeleteDialog } from "./dataset-actions.tsx";
import { DatasetRows, ROW_DEFAULTS, toRowFilter } from "./dataset-rows.tsx";
import { ImportDialog } from "./import-dialog.tsx";

const DEFAULTS = { tab: "rows" };

interface DatasetViewProps {
  readonly id: string;
  readonly onClose: () => void;
}

/** One dataset: its rows, its columns, and who reads and writes it. */
export function DatasetView({ id, onClose }: DatasetViewProps) {
  const { data: dataset, error, refetch } = useDataset(id);
  return (
    <>
      <nav aria-label="Way back">
        <Link to="/datasets">
          <ArrowLeft size={14} className="mr-1 inline" aria-hidden />
          Datasets
        </Link>
      </nav>
      {error !== null && dataset === undefined && (
        <>
          <PageHeader title="Dataset" />
          <ErrorCard
            what="The dataset could not be loaded"
            error={error}
            onRetry={() => void refetch()}
          />
        </>
      )}
      {dataset === undefined && error === null && (
        <>
          <PageHeader title="Dataset" />
          <Skeleton shape="rows" label="The dataset is loading" />
        </>
      )}
      {dataset !== undefined && <Loaded dataset={dataset} onClose={onClose} />}
    </>
  );
}

interface LoadedProps {
  readonly dataset: Dataset;
  readonly onClose: () => void;
}

function Loaded({ dataset, onClose }: LoadedProps) {
  const [{ tab }, change] = useUrlState(DEFAULTS);
  return (
    <>
      <PageHeader
        title={dataset.name}
        aside={
          <>
            <Count value={dataset.rows} /> {wordFor(dataset.rows, "row")} · version{" "}
            {dataset.version}
          </>
        }
      >
        <Actions dataset={dataset} onClose={onClose} />
      </PageHeader>
      {dataset.description !== null && (
        <p className="max-w-prose break-words text-muted">
          <bdi>{dataset.description}</bdi>
        </p>
      )}
      <Tabs
        label="Views of the dataset"
        value={["rows", "columns", "about"].includes(tab) ? tab : DEFAULTS.tab}
        onChange={(next) => change({ tab: next })}
        tabs={[
          { id: "rows", label: "Rows", content: <DatasetRows dataset={dataset} /> },
          { id: "columns", label: "Columns", content: <Columns dataset={dataset} /> },
          { id: "about", label: "About", content: <About dataset={dataset} /> },
        ]}
      />
    </>
  );
}

function Actions({ dataset, onClose }: LoadedProps) {
  const [open, setOpen] = useState<"import" | "change" | "delete">();
  const reason = useReadOnlyReason(dataset);
  const filter = toRowFilter(useUrlState(ROW_DEFAULTS)[0]);
  const dialog = { dataset, onClose: () => setOpen(undefined) };
  useKeys(
    reason === undefined
      ? [{ keys: "e", label: "Change the dataset", run: () => setOpen("change") }]
      : [],
  );
  return (
    <>
      <Button look="primary" disabledReason={reason} onClick={() => setOpen("import")}>
        <Upload size={16} aria-hidden />
        Import rows
      </Button>
      <Menu
        trigger={
          <Button>
            <Download size={16} aria-hidden />
            Download
          </Button>
        }
        items={[
          {
            label: "CSV for spreadsheets",
            run: () => downloadFrom(rowsAddress(dataset.id, "csv")),
          },
          {
            label: "CSV for an import",
            run: () => downloadFrom(rowsAddress(dataset.id, "csv", true)),
          },
          { label: "NDJSON", run: () => downloadFrom(rowsAddress(dataset.id, "ndjson")) },
        ]}
      />
      <Button disabledReason={reason} onClick={() => setOpen("change")}>
        Change dataset
      </Button>
      <Button look="danger" disabledReason={reason} onClick={() => setOpen("delete")}>
        Delete dataset
      </Button>
      <CallButton
        call={
          isFiltered(filter)
            ? { method: "GET", path: filteredRowsPath(dataset.name, filter), credential: "bi" }
            : { method: "GET", path: `/api/datasets/${dataset.id}/rows`, credential: "key" }
        }
      />
      <ImportDialog {...dialog} isOpen={open === "import"} />
      <ChangeDialog {...dialog} isOpen={open === "change"} />
      <DeleteDialog {...dialog} isOpen={open === "delete"} onDeleted={onClose} />
    </>
  );
}

/** Why one may only read a dataset; undefined where one may write it. */
function useReadOnlyReason({ owner_id: owner }: Dataset): string | undefined {
  const session = useSession().data;
  const isWriter = session?.role === "admin" || session?.id === owner;
  return isWriter ? undefined : "Only its owner and administrators change it.";
}

type ShownColumn = Dataset["columns"][number];

const COLUMNS: ReadonlyArray<Column<ShownColumn>> = [
  {
    id: "name",
    head: "Name",
    cell: ({ name }) => <code className="font-mono text-sm">{name}</code>,
  },
  { id: "type", head: "Type", cell: ({ type }) => COLUMN_TYPES[type] },
];

function Columns({ dataset }: { readonly dataset: Dataset }) {
  const key = new Set(dataset.key);
  const columns: ReadonlyArray<Column<ShownColumn>> = [
    ...COLUMNS,
    { id: "key", head: "Key", cell: ({ name }) => (key.has(name) ? "part of the key" : "–") },
  ];
  return (
    <Table label="Columns" columns={columns} rows={dataset.columns} rowId={({ name }) => name} />
  );
}

function About({ dataset }: { readonly dataset: Dataset }) {
  const { owner_id: owner, visibility } = dataset;
  const isShared = visibility === "everyone";
  return (
    <PropertyList
      properties={[
        ["Read by", isShared ? "all users" : "its owner and administrators"],
        ["Written by", "its owner and administrators, and workflows that they let write"],
        [
          "Owner",
          owner === null ? "deleted: administrators keep it" : <UserName key="owner" id={owner} />,
        ],
        ["Key", dataset.key.length === 0 ? "none: rows are only added" : dataset.key.join(", ")],
        ["Version", `${dataset.version}, raised by each change of its rows`],
        ["Changed", <Time key="changed" value={dataset.updated_at} />],
        ["Made", <Time key="made" value={dataset.created_at} />],
        [
          "Id",
          <code key="id" className="font-mono text-sm break-all">
            {dataset.id}
          </code>,
        ],
      ]}
    />
  );
}
