import { Plus, Upload } from "lucide-react";
import { useState } from "react";
import { type Dataset, useDatasets } from "../../api/queries/datasets.ts";
import { stringifySearch } from "../../lib/url-state.ts";
import { UserName } from "../../parts/accounts/user-name.tsx";
import { ListView } from "../../parts/list-view.tsx";
import { Button } from "../../ui/buttons/button.tsx";
import { PageHeader } from "../../ui/navigation/page-header.tsx";
import { useOpenRow } from "../../ui/navigation/use-open-row.ts";
import { useUrlState } from "../../ui/navigation/use-url-state.ts";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { EmptyState } from "../../ui/status/empty-state.tsx";
import { FilterBar } from "../../ui/tables/filter-bar.tsx";
import type { Column } from "../../ui/tables/table-column.ts";
import { Count } from "../../ui/text/count.tsx";
import { Time } from "../../ui/text/time.tsx";
import { useKeys } from "../../ui/use-keys.ts";
import { CreateDialog } from "./create-dialog.tsx";
import { DatasetView } from "./dataset-view.tsx";
import { NewImportDialog } from "./import-dialog.tsx";

const DEFAULTS = { search: "" };

/** The datasets that one may read, or one of them with its rows. */
export function Page() {
  const { openId, open, close } = useOpenRow("datasets");
  return openId === undefined ? (
    <Datasets onOpen={open} />
  ) : (
    <DatasetView key={openId} id={openId} onClose={close} />
  );
}

function Datasets({ onOpen }: { readonly onOpen: (id: string) => void }) {
  const [{ search }, change] = useUrlState(DEFAULTS);
  const [opened, setOpened] = useState<"create" | "import">();
  const list = useDatasets(search);
  const close = () => setOpened(undefined);
  useKeys([{ keys: "n", label: "New dataset", run: () => setOpened("create") }]);
  const importFile = (
    <Button look="primary" onClick={() => setOpened("import")}>
      <Upload size={16} aria-hidden />
      Import file
    </Button>
  );
  return (
    <>
      <PageHeader title="Datasets" aside={list.total}>
        <Button onClick={() => setOpened("create")}>
          <Plus size={16} aria-hidden />
          Create dataset
        </Button>
        {importFile}
        <CallButton
          call={{
            method: "GET",
            path: `/api/datasets${stringifySearch({ search })}`,
            credential: "key",
          }}
        />
      </PageHeader>
      <FilterBar
        search={{
          label: "Name or id",
          value: search,
          onChange: (next) => change({ search: next }),
        }}
        active={search === "" ? 0 : 1}
        onClear={() => change(DEFAULTS)}
      />
      <ListView
        label="Datasets"
        list={list}
        columns={COLUMNS}
        rowId={({ id }) => id}
        onOpen={onOpen}
        empty={
          <EmptyState
            title={search === "" ? "No datasets yet" : "No dataset fits the search"}
            action={search === "" ? importFile : undefined}
          >
            A dataset is a table of typed rows, which workflows read and write and BI tools query.
          </EmptyState>
        }
      />
      <CreateDialog
        isOpen={opened === "create"}
        onClose={close}
        onCreated={({ id }) => onOpen(id)}
      />
      <NewImportDialog
        isOpen={opened === "import"}
        onClose={close}
        onImported={({ dataset }) => onOpen(dataset.id)}
      />
    </>
  );
}

const COLUMNS: ReadonlyArray<Column<Dataset>> = [
  { id: "name", head: "Name", cell: ({ name }) => name },
  {
    id: "rows",
    head: "Rows",
    cell: ({ rows }) => <Count value={rows} />,
    isNumber: true,
    width: "8rem",
  },
  {
    id: "columns",
    head: "Columns",
    cell: ({ columns }) => columns.length,
    isNumber: true,
    width: "7rem",
    isWideOnly: true,
  },
  {
    id: "owner",
    head: "Owner",
    cell: ({ owner_id: id }) =>
      id === null ? <span className="text-muted">deleted</span> : <UserName id={id} />,
    width: "10rem",
  },
  {
    id: "visibility",
    head: "Read by",
    cell: ({ visibility }) => (visibility === "everyone" ? "All users" : "Its owner"),
    width: "8rem",
  },
  {
    id: "version",
    head: "Version",
    cell: ({ version }) => version,
    isNumber: true,
    width: "7rem",
    isWideOnly: true,
  },
  {
    id: "updated",
    head: "Changed",
    cell: ({ updated_at: at }) => <Time value={at} isRelative />,
    width: "9rem",
  },
];
