import { RotateCcw } from "lucide-react";
import { Suspense, useMemo } from "react";
import {
  addStoreFile,
  type StoreFile,
  toFileState,
  useReadAgain,
  useStoreFiles,
} from "../../api/queries/store-files.ts";
import { isMoving, type VectorStore } from "../../api/queries/vector-stores.ts";
import { ListView } from "../../parts/list-view.tsx";
import { IconButton } from "../../ui/buttons/icon-button.tsx";
import { Select } from "../../ui/forms/select.tsx";
import { useOpenPart, useUrlState } from "../../ui/navigation/use-url-state.ts";
import { EmptyState } from "../../ui/status/empty-state.tsx";
import { lazyPart } from "../../ui/status/lazy-part.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import { FilterBar } from "../../ui/tables/filter-bar.tsx";
import type { Column } from "../../ui/tables/table-column.ts";
import { Bytes } from "../../ui/text/count.tsx";
import { FilePanel } from "./file-panel.tsx";
import { FolderJob } from "./folder-job.tsx";
import { chunksText, FileState, useReadOnlyReason } from "./states.tsx";

// The page would be too large with it.
const AddFiles = lazyPart(async () => (await import("./add-files.tsx")).AddFiles);
const DEFAULTS = { state: "", file: "" };
const STATES = [
  { value: "", label: "Any state" },
  { value: "in_progress", label: "Being read" },
  { value: "completed", label: "Ready" },
  { value: "failed", label: "Failed" },
  { value: "cancelled", label: "Cancelled" },
];

/** The files of a store, and the ways by which they come into it. */
export function FilesTab({ store }: { readonly store: VectorStore }) {
  const [{ state, file: openId }, change] = useUrlState(DEFAULTS);
  const openPart = useOpenPart(DEFAULTS, "file");
  const isReadOnly = useReadOnlyReason(store) !== undefined;
  const list = useStoreFiles({
    storeId: store.id,
    state: toFileState(state),
    isMoving: isMoving(store),
  });
  const names = useMemo(() => new Set(list.rows.map(({ ext }) => ext.filename)), [list.rows]);
  const open = list.rows.find(({ id }) => id === openId);
  return (
    <div className="grid gap-4">
      {!isReadOnly && store.status === "expired" && (
        <p>The store has expired: it takes no files. Set another expiry in its settings.</p>
      )}
      {!isReadOnly && store.status !== "expired" && (
        <Suspense fallback={<Skeleton shape="block" label="The uploads are loading" />}>
          <AddFiles storeId={store.id} onAdd={addStoreFile} names={names}>
            <FolderJob storeId={store.id} />
          </AddFiles>
        </Suspense>
      )}
      <FilterBar active={state === "" ? 0 : 1} onClear={() => change({ state: "" })}>
        <Select
          label="State"
          value={state}
          onChange={(next) => change({ state: next })}
          choices={STATES}
        />
      </FilterBar>
      <div className="flex min-w-0 items-start gap-4">
        <ListView
          label="Files"
          list={list}
          columns={open === undefined ? COLUMNS : COLUMNS.filter(({ id }) => id !== "size")}
          rowId={({ id }) => id}
          openId={open?.id}
          onOpen={(id) => openPart({ file: id })}
          actions={(file) => <ReadAgain store={store} file={file} />}
          empty={
            <EmptyState title={state === "" ? "No files yet" : "No file is in this state"}>
              {state === ""
                ? "Texts, PDF, Office and OpenDocument files, HTML, CSV, JSON and XML can be read."
                : "Others may be: clear the filter to see them."}
            </EmptyState>
          }
        />
        {open !== undefined && (
          <FilePanel store={store} file={open} onClose={() => openPart({ file: "" })} />
        )}
      </div>
    </div>
  );
}

interface ReadAgainProps {
  readonly store: VectorStore;
  readonly file: StoreFile;
}

function ReadAgain({ store, file }: ReadAgainProps) {
  const readAgain = useReadAgain(store.id);
  const reason = useReadOnlyReason(store);
  if (file.status !== "failed" && file.status !== "cancelled") return null;
  return (
    <IconButton
      icon={RotateCcw}
      label={`Read ${file.ext.filename} again`}
      isBusy={readAgain.isPending}
      disabledReason={reason}
      onClick={() => readAgain.mutate(file)}
    />
  );
}

const COLUMNS: ReadonlyArray<Column<StoreFile>> = [
  { id: "name", head: "Name", cell: ({ ext }) => ext.filename },
  {
    id: "size",
    head: "Size",
    cell: ({ ext }) => <Bytes value={ext.bytes} />,
    isNumber: true,
    width: "7rem",
  },
  { id: "chunks", head: "Chunks", cell: chunksText, isNumber: true, width: "8rem" },
  { id: "state", head: "State", cell: (file) => <FileState file={file} /> },
];
