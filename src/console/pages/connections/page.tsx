import { Plus } from "lucide-react";
import { useState } from "react";
import { type Connection, useConnections } from "../../api/queries/connections.ts";
import { ListView } from "../../parts/list-view.tsx";
import { Button } from "../../ui/buttons/button.tsx";
import { PageHeader } from "../../ui/navigation/page-header.tsx";
import { Tabs } from "../../ui/navigation/tabs.tsx";
import { useOpenRow } from "../../ui/navigation/use-open-row.ts";
import { useUrlState } from "../../ui/navigation/use-url-state.ts";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { EmptyState } from "../../ui/status/empty-state.tsx";
import { StatusDot } from "../../ui/status/status-dot.tsx";
import type { Column } from "../../ui/tables/table-column.ts";
import { Time } from "../../ui/text/time.tsx";
import { useKeys } from "../../ui/use-keys.ts";
import { AddDialog } from "./connection-actions.tsx";
import { ConnectionPanel } from "./connection-panel.tsx";
import { KINDS, placeOf } from "./connection-words.ts";
import { FileConnections } from "./file-connections.tsx";

const DEFAULTS = { tab: "databases" };

/** What tools may read: databases, and folders of the server. */
export function Page() {
  const [{ tab }, change] = useUrlState(DEFAULTS);
  const { openId, open, close } = useOpenRow("connections");
  const [isAdding, setAdding] = useState(false);
  const list = useConnections();
  const isFolders = tab === "folders";
  useKeys(isFolders ? [] : [{ keys: "n", label: "New connection", run: () => setAdding(true) }]);
  const add = (
    <Button look="primary" onClick={() => setAdding(true)}>
      <Plus size={16} aria-hidden />
      Add connection
    </Button>
  );
  const databases = (
    <div className="flex min-w-0 flex-1 items-start gap-4">
      <ListView
        label="Connections"
        list={list}
        columns={columns(openId !== undefined)}
        rowId={({ id }) => id}
        openId={openId}
        onOpen={open}
        empty={
          <EmptyState title="No connections yet" action={add}>
            A connection is a database that models may read, through assistants that name it.
          </EmptyState>
        }
      />
      {openId !== undefined && <ConnectionPanel key={openId} id={openId} onClose={close} />}
    </div>
  );
  return (
    <>
      <PageHeader title="Connections" aside={isFolders ? undefined : list.total}>
        {!isFolders && add}
        {isFolders ? (
          <CallButton
            call={{ method: "GET", path: "/api/admin/file-connections", credential: "session" }}
          />
        ) : (
          <CallButton
            call={{
              method: "GET",
              path: "/api/connections",
              credential: "token",
              scope: "connections:read",
            }}
          />
        )}
      </PageHeader>
      <Tabs
        label="Databases and folders"
        value={isFolders ? "folders" : DEFAULTS.tab}
        onChange={(next) => change({ tab: next })}
        tabs={[
          { id: "databases", label: "Databases", content: databases },
          { id: "folders", label: "Folders", content: <FileConnections /> },
        ]}
      />
      <AddDialog
        isOpen={isAdding}
        onClose={() => setAdding(false)}
        onAdded={({ id }) => open(id)}
      />
    </>
  );
}

function columns(isNarrow: boolean): ReadonlyArray<Column<Connection>> {
  const all: ReadonlyArray<Column<Connection>> = [
    { id: "name", head: "Name", cell: ({ name }) => <bdi>{name}</bdi> },
    { id: "kind", head: "Kind", cell: ({ kind }) => KINDS[kind], width: "9rem" },
    {
      id: "place",
      head: "Host or file",
      cell: (connection) => <code className="font-mono text-sm">{placeOf(connection)}</code>,
    },
    {
      id: "database",
      head: "Database",
      cell: ({ database }) => database ?? <span className="text-muted">–</span>,
      width: "10rem",
      isWideOnly: true,
    },
    {
      id: "test",
      head: "Last test",
      cell: (connection) => <LastTest connection={connection} />,
      width: "12rem",
    },
  ];
  return isNarrow ? all.filter(({ id }) => id !== "place" && id !== "database") : all;
}

function LastTest({ connection }: { readonly connection: Connection }) {
  if (connection.password_lost) return <StatusDot tone="bad">Password lost</StatusDot>;
  const test = connection.last_test;
  if (test === null) return <span className="text-muted">not tested</span>;
  return (
    <StatusDot tone={test.ok ? "ok" : "bad"}>
      <span>
        {test.ok ? "Works" : "Failed"}, <Time value={test.at} isRelative />
      </span>
    </StatusDot>
  );
}
