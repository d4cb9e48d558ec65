import { Plus } from "lucide-react";
import { useState } from "react";
import { type Assistant, assistantName, useAssistants } from "../../api/queries/assistants.ts";
import { useSession } from "../../api/queries/session.ts";
import { countOf } from "../../lib/count.ts";
import { UserName } from "../../parts/accounts/user-name.tsx";
import { ListView } from "../../parts/list-view.tsx";
import { LEVELS } from "../../parts/tool-level.tsx";
import { Button } from "../../ui/buttons/button.tsx";
import { PageHeader } from "../../ui/navigation/page-header.tsx";
import { useOpenRow } from "../../ui/navigation/use-open-row.ts";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { EmptyState } from "../../ui/status/empty-state.tsx";
import type { Column } from "../../ui/tables/table-column.ts";
import { useKeys } from "../../ui/use-keys.ts";
import { AssistantView } from "./assistant-view.tsx";
import { CreateDialog } from "./create-dialog.tsx";

/** The assistants that one may use. An open one has the page for itself, with a trial beside its form. */
export function Page() {
  const { openId, open, close } = useOpenRow("assistants", ["tab"]);
  if (openId !== undefined) return <AssistantView key={openId} id={openId} onClose={close} />;
  return <Assistants onOpen={open} />;
}

function Assistants({ onOpen }: { readonly onOpen: (id: string) => void }) {
  const [isCreating, setCreating] = useState(false);
  const list = useAssistants();
  const isAdmin = useSession().data?.role === "admin";
  useKeys([{ keys: "n", label: "New assistant", run: () => setCreating(true) }]);
  const create = (
    <Button look="primary" onClick={() => setCreating(true)}>
      <Plus size={16} aria-hidden />
      New assistant
    </Button>
  );
  return (
    <>
      <PageHeader title="Assistants" aside={list.hasMore ? undefined : list.rows.length}>
        {create}
        <CallButton call={{ method: "GET", path: "/v1/assistants", credential: "key" }} />
      </PageHeader>
      <ListView
        label="Assistants"
        list={list}
        columns={isAdmin ? COLUMNS : COLUMNS.filter(({ id }) => id !== "owner")}
        rowId={({ id }) => id}
        onOpen={onOpen}
        empty={
          <EmptyState title="No assistants yet" action={create}>
            An assistant is a model with instructions, knowledge and tools. Chats and programs call
            it by its name, as a model.
          </EmptyState>
        }
      />
      <CreateDialog isOpen={isCreating} onClose={() => setCreating(false)} onCreated={onOpen} />
    </>
  );
}

const COLUMNS: ReadonlyArray<Column<Assistant>> = [
  { id: "name", head: "Name", cell: assistantName },
  { id: "model", head: "Model", cell: ({ model }) => model ?? "the default", width: "14rem" },
  {
    id: "knowledge",
    head: "Knowledge",
    cell: ({ tool_resources: { file_search: search } }) => {
      const count = search?.vector_store_ids.length ?? 0;
      return count === 0 ? "none" : countOf(count, "store");
    },
    width: "8rem",
  },
  {
    id: "tools",
    head: "Tools",
    cell: ({ ext }) => (ext.tools.length === 0 ? "none" : ext.tools.join(", ")),
    width: "14rem",
    isWideOnly: true,
  },
  {
    id: "level",
    head: "Tools may",
    cell: ({ ext }) => LEVELS[ext.max_level],
    width: "10rem",
    isWideOnly: true,
  },
  {
    id: "visibility",
    head: "Who uses it",
    cell: ({ ext }) => (ext.visibility === "everyone" ? "everyone" : "its owner"),
    width: "8rem",
  },
  {
    id: "owner",
    head: "Owner",
    cell: ({ ext: { owner_id: id } }) => (id === null ? "nobody" : <UserName id={id} />),
    width: "9rem",
    isWideOnly: true,
  },
];
