import { Plus } from "lucide-react";
import { useState } from "react";
import { useSession } from "../../api/queries/session.ts";
import { useVectorStores, type VectorStore } from "../../api/queries/vector-stores.ts";
import { UserName } from "../../parts/accounts/user-name.tsx";
import { ListView } from "../../parts/list-view.tsx";
import { Button } from "../../ui/buttons/button.tsx";
import { PageHeader } from "../../ui/navigation/page-header.tsx";
import { useOpenRow } from "../../ui/navigation/use-open-row.ts";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { EmptyState } from "../../ui/status/empty-state.tsx";
import type { Column } from "../../ui/tables/table-column.ts";
import { Count } from "../../ui/text/count.tsx";
import { Time } from "../../ui/text/time.tsx";
import { useKeys } from "../../ui/use-keys.ts";
import { CreateDialog } from "./create-dialog.tsx";
import { StoreState, storeName } from "./states.tsx";
import { StoreView } from "./store-view.tsx";

/** What the views of a store have in the address. */
const OF_STORE = ["tab", "state", "file", "query", "results", "batch"];

/** The vector stores: collections of files that assistants answer from. An open one has the page for itself. */
export function Page() {
  const { openId, open, close } = useOpenRow("knowledge", OF_STORE);
  if (openId !== undefined) return <StoreView key={openId} id={openId} onClose={close} />;
  return <Stores onOpen={open} />;
}

function Stores({ onOpen }: { readonly onOpen: (id: string) => void }) {
  const [isCreating, setCreating] = useState(false);
  const list = useVectorStores();
  const isAdmin = useSession().data?.role === "admin";
  useKeys([{ keys: "n", label: "New store", run: () => setCreating(true) }]);
  const create = (
    <Button look="primary" onClick={() => setCreating(true)}>
      <Plus size={16} aria-hidden />
      New store
    </Button>
  );
  return (
    <>
      <PageHeader title="Knowledge" aside={list.hasMore ? undefined : list.rows.length}>
        {create}
        <CallButton call={{ method: "GET", path: "/v1/vector_stores", credential: "key" }} />
      </PageHeader>
      <ListView
        label="Vector stores"
        list={list}
        columns={isAdmin ? COLUMNS : COLUMNS.filter(({ id }) => id !== "owner")}
        rowId={({ id }) => id}
        onOpen={onOpen}
        empty={
          <EmptyState title="No stores yet" action={create}>
            A store holds files. They are read, split and embedded here, and assistants answer from
            them with their sources.
          </EmptyState>
        }
      />
      <CreateDialog isOpen={isCreating} onClose={() => setCreating(false)} onCreated={onOpen} />
    </>
  );
}

const COLUMNS: ReadonlyArray<Column<VectorStore>> = [
  { id: "name", head: "Name", cell: storeName },
  { id: "state", head: "State", cell: (store) => <StoreState store={store} />, width: "12rem" },
  {
    id: "files",
    head: "Files",
    cell: ({ file_counts: { total } }) => <Count value={total} />,
    isNumber: true,
    width: "6rem",
  },
  {
    id: "chunks",
    head: "Chunks",
    cell: ({ ext: { chunks } }) => <Count value={chunks} />,
    isNumber: true,
    width: "6rem",
  },
  {
    id: "model",
    head: "Embedding model",
    cell: ({ ext }) => ext.embedding_model,
    width: "12rem",
    isWideOnly: true,
  },
  {
    id: "owner",
    head: "Owner",
    cell: ({ ext: { owner_id: id } }) => (id === null ? "nobody" : <UserName id={id} />),
    width: "9rem",
    isWideOnly: true,
  },
  {
    id: "visibility",
    head: "Who searches it",
    cell: ({ ext }) => (ext.visibility === "everyone" ? "everyone" : "its owner"),
    width: "9rem",
    isWideOnly: true,
  },
  {
    id: "used",
    head: "Last used",
    cell: ({ last_active_at: at }) => <Time value={at * 1_000} isRelative />,
    width: "8rem",
    isWideOnly: true,
  },
];
