import { ArrowLeft } from "lucide-react";
import { Suspense, useState } from "react";
import { flushSync } from "react-dom";
import {
  useDeleteVectorStore,
  useVectorStore,
  type VectorStore,
} from "../../api/queries/vector-stores.ts";
import { countOf, formatBytes, formatCount, wordFor } from "../../lib/count.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { IconButton } from "../../ui/buttons/icon-button.tsx";
import { PageHeader } from "../../ui/navigation/page-header.tsx";
import { Tabs } from "../../ui/navigation/tabs.tsx";
import { useUrlState } from "../../ui/navigation/use-url-state.ts";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { ConfirmDialog } from "../../ui/overlays/confirm-dialog.tsx";
import { showToast } from "../../ui/overlays/toast.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { lazyPart } from "../../ui/status/lazy-part.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import { FilesTab } from "./files-tab.tsx";
import { ReindexState } from "./reindex.tsx";
import { SettingsTab } from "./settings-tab.tsx";
import { StoreState, storeName, useReadOnlyReason } from "./states.tsx";

const DEFAULTS = { tab: "files" };
const SearchTab = lazyPart(async () => (await import("./search-tab.tsx")).SearchTab);

interface StoreViewProps {
  readonly id: string;
  readonly onClose: () => void;
}

/** One store: its files, a search in it, its settings. */
export function StoreView({ id, onClose }: StoreViewProps) {
  const { data: store, error, refetch } = useVectorStore(id);
  const [{ tab }, change] = useUrlState(DEFAULTS);
  const [isGone, setGone] = useState(false);
  const leave = () => {
    // The guard of unsaved changes is gone with them, before the view is left.
    flushSync(() => setGone(true));
    onClose();
  };
  const back = <IconButton icon={ArrowLeft} label="Back to all stores" onClick={onClose} />;
  return (
    <>
      <div className="flex items-start gap-2">
        {back}
        <div className="min-w-0 flex-1">
          <PageHeader
            title={store === undefined ? "Vector store" : storeName(store)}
            aside={store && <Figures store={store} />}
          >
            {store !== undefined && <DeleteButton store={store} onDeleted={leave} />}
            <CallButton
              call={{ method: "GET", path: `/v1/vector_stores/${id}`, credential: "key" }}
            />
          </PageHeader>
        </div>
      </div>
      {error !== null && (
        <ErrorCard
          what="The store could not be loaded"
          error={error}
          onRetry={() => void refetch()}
        />
      )}
      {store === undefined && error === null && (
        <Skeleton shape="rows" label="The store is loading" />
      )}
      {store !== undefined && !isGone && (
        <>
          <ReindexState store={store} />
          <Tabs
            label="Views of the store"
            value={tab}
            onChange={(next) => change({ tab: next })}
            tabs={[
              { id: "files", label: "Files", content: <FilesTab store={store} /> },
              {
                id: "search",
                label: "Search test",
                content: (
                  <Suspense fallback={<Skeleton shape="block" label="The search is loading" />}>
                    <SearchTab store={store} />
                  </Suspense>
                ),
              },
              {
                id: "settings",
                label: "Settings",
                content: <SettingsTab store={store} />,
                isKept: true,
              },
            ]}
          />
        </>
      )}
    </>
  );
}

function Figures({ store }: { readonly store: VectorStore }) {
  const { file_counts: counts, usage_bytes: bytes, ext } = store;
  return (
    <span className="flex flex-wrap items-center gap-x-3">
      <StoreState store={store} />
      <span>
        {countOf(counts.total, "file")} · {formatCount(ext.chunks)} {wordFor(ext.chunks, "chunk")} ·{" "}
        {formatBytes(bytes)} · {ext.embedding_model}
      </span>
    </span>
  );
}

interface DeleteButtonProps {
  readonly store: VectorStore;
  readonly onDeleted: () => void;
}

function DeleteButton({ store, onDeleted }: DeleteButtonProps) {
  const [isAsking, setAsking] = useState(false);
  const remove = useDeleteVectorStore(store.id);
  const name = storeName(store);
  return (
    <>
      <Button
        look="danger"
        disabledReason={useReadOnlyReason(store)}
        onClick={() => setAsking(true)}
      >
        Delete store
      </Button>
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={`Delete store ${name}?`}
        action="Delete store"
        typeName={name}
        onConfirm={async () => {
          await remove.mutateAsync();
          onDeleted();
          showToast(`Store ${name} is deleted`);
        }}
      >
        Its {countOf(store.ext.chunks, "chunk is", "chunks are")} lost, and assistants answer
        without them. Uploaded files stay; copies of a folder's files are deleted.
      </ConfirmDialog>
    </>
  );
}
