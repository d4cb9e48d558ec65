import { Plus } from "lucide-react";
import { useState } from "react";
import { type ListedToolServer, useToolServers } from "../../api/queries/tool-servers.ts";
import { wholeList } from "../../api/use-list.ts";
import { stringifySearch } from "../../lib/url-state.ts";
import { ListView } from "../../parts/list-view.tsx";
import { Button } from "../../ui/buttons/button.tsx";
import { PageHeader } from "../../ui/navigation/page-header.tsx";
import { useOpenRow } from "../../ui/navigation/use-open-row.ts";
import { useUrlState } from "../../ui/navigation/use-url-state.ts";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { Badge } from "../../ui/status/badge.tsx";
import { EmptyState } from "../../ui/status/empty-state.tsx";
import { FilterBar } from "../../ui/tables/filter-bar.tsx";
import type { Column } from "../../ui/tables/table-column.ts";
import { Time } from "../../ui/text/time.tsx";
import { useKeys } from "../../ui/use-keys.ts";
import { AddDialog } from "./add-dialog.tsx";
import { ServerPanel } from "./server-panel.tsx";
import { ServerStatus } from "./server-status.tsx";

const DEFAULTS = { search: "" };

/** The tool servers: whether they answer, what they offer, and what waits for approval. */
export function Page() {
  const [{ search }, change] = useUrlState(DEFAULTS);
  const { openId, open, close } = useOpenRow("tool-servers");
  const [isAdding, setAdding] = useState(false);
  const servers = useToolServers(search);
  const { data } = servers;
  useKeys([{ keys: "n", label: "New tool server", run: () => setAdding(true) }]);
  const add = (
    <Button look="primary" onClick={() => setAdding(true)}>
      <Plus size={16} aria-hidden />
      Add tool server
    </Button>
  );
  const list = { ...wholeList(servers, data?.data), total: data?.total };
  return (
    <>
      <PageHeader title="Tool servers" aside={data?.total}>
        {add}
        <CallButton
          call={{
            method: "GET",
            path: `/api/mcp-servers${stringifySearch({ search })}`,
            credential: "token",
            scope: "mcp_servers:read",
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
      <div className="flex min-w-0 flex-1 items-start gap-4">
        <ListView
          label="Tool servers"
          list={list}
          columns={columns(openId !== undefined)}
          rowId={({ id }) => id}
          openId={openId}
          onOpen={open}
          empty={
            <EmptyState
              title={search === "" ? "No tool servers yet" : "No tool server fits the search"}
              action={search === "" ? add : undefined}
            >
              A tool server of the Model Context Protocol brings tools of other systems, such as
              tickets or calendars. Models get those that an administrator has approved.
            </EmptyState>
          }
        />
        {openId !== undefined && <ServerPanel key={openId} id={openId} onClose={close} />}
      </div>
      <AddDialog
        isOpen={isAdding}
        onClose={() => setAdding(false)}
        onAdded={({ id }) => open(id)}
      />
    </>
  );
}

function columns(isNarrow: boolean): ReadonlyArray<Column<ListedToolServer>> {
  const all: ReadonlyArray<Column<ListedToolServer>> = [
    { id: "name", head: "Name", cell: ({ name }) => name, width: "12rem" },
    {
      id: "status",
      head: "Status",
      cell: (server) => <ServerStatus server={server} />,
      width: "9rem",
    },
    {
      id: "tools",
      head: "Approved tools",
      cell: ({ tool_counts: counts }) => counts.approved,
      isNumber: true,
      width: "9rem",
    },
    {
      id: "waiting",
      head: "Waiting",
      cell: ({ tool_counts: { waiting, changed } }) =>
        waiting + changed === 0 ? (
          <span className="text-muted">none</span>
        ) : (
          <Badge tone="warn">{waiting + changed}</Badge>
        ),
      width: "7rem",
    },
    {
      id: "url",
      head: "Address",
      cell: ({ url }) => <code className="font-mono text-sm">{url}</code>,
    },
    {
      id: "checked",
      head: "Checked",
      cell: ({ checked_at: at }) => <Time value={at} isRelative />,
      width: "9rem",
      isWideOnly: true,
    },
  ];
  return isNarrow ? all.filter(({ id }) => id !== "url" && id !== "checked") : all;
}
