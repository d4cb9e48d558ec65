import { useMemo } from "react";
import { type ListedTool, useTools } from "../../api/queries/tools.ts";
import { wholeList } from "../../api/use-list.ts";
import { matchScore } from "../../lib/match.ts";
import { ListView } from "../../parts/list-view.tsx";
import { LEVELS, ToolLevelBadge } from "../../parts/tool-level.tsx";
import { Select } from "../../ui/forms/select.tsx";
import { Link } from "../../ui/navigation/link.tsx";
import { PageHeader } from "../../ui/navigation/page-header.tsx";
import { useOpenRow } from "../../ui/navigation/use-open-row.ts";
import { useUrlState } from "../../ui/navigation/use-url-state.ts";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { EmptyState } from "../../ui/status/empty-state.tsx";
import { StatusDot } from "../../ui/status/status-dot.tsx";
import { FilterBar } from "../../ui/tables/filter-bar.tsx";
import type { Column } from "../../ui/tables/table-column.ts";
import { LeftOut } from "./left-out.tsx";
import { ToolPanel } from "./tool-panel.tsx";

const DEFAULTS = { search: "", level: "", source: "" };
const NONE: readonly ListedTool[] = [];

/** All tools, where they come from and what they may do, and a call by which one is tried. */
export function Page() {
  const [state, change] = useUrlState(DEFAULTS);
  const { openId, open, close } = useOpenRow("tools");
  const answer = useTools();
  const { data, error, isPending, refetch } = answer;
  const tools = data?.data ?? NONE;
  const rows = useMemo(() => tools.filter((tool) => fits(tool, state)), [tools, state]);
  const active = Object.values(state).filter((value) => value !== "").length;
  const list = wholeList(answer, rows);
  return (
    <>
      <PageHeader title="Tools" aside={data && tools.length}>
        <CallButton call={{ method: "GET", path: "/api/tools", credential: "session" }} />
      </PageHeader>
      <FilterBar
        search={{
          label: "Name or description",
          value: state.search,
          onChange: (search) => change({ search }),
        }}
        active={active}
        onClear={() => change(DEFAULTS)}
      >
        <Select
          label="Level"
          value={state.level}
          onChange={(level) => change({ level })}
          choices={[
            { value: "", label: "Any level" },
            ...Object.entries(LEVELS).map(([value, label]) => ({ value, label })),
          ]}
        />
        <Select
          label="Source"
          value={state.source}
          onChange={(source) => change({ source })}
          choices={[
            { value: "", label: "Any source" },
            { value: "builtin", label: "Built in" },
            { value: "mcp", label: "Tool servers" },
          ]}
        />
      </FilterBar>
      {data !== undefined && data.left_out.length > 0 && <LeftOut tools={data.left_out} />}
      <div className="flex min-w-0 flex-1 items-start gap-4">
        <ListView
          label="Tools"
          list={list}
          columns={columns(openId !== undefined)}
          rowId={({ name }) => name}
          openId={openId}
          onOpen={open}
          empty={
            <EmptyState
              title={active > 0 ? "No tool fits the filters" : "There are no tools"}
              action={active > 0 ? undefined : <Link to="/tool-servers">Tool servers</Link>}
            >
              A tool is what a model can do beside answering: search, read, ask another system.
            </EmptyState>
          }
        />
        {openId !== undefined && (
          <ToolPanel
            key={openId}
            name={openId}
            tool={tools.find(({ name }) => name === openId)}
            isLoading={isPending}
            error={data === undefined ? error : null}
            onRetry={() => void refetch()}
            onClose={close}
          />
        )}
      </div>
    </>
  );
}

function fits(tool: ListedTool, { search, level, source }: typeof DEFAULTS): boolean {
  if (level !== "" && tool.level !== level) return false;
  if (source !== "" && tool.source !== source) return false;
  return matchScore(tool.name, search) > 1 || containsAll(tool, search);
}

function containsAll({ name, description }: ListedTool, search: string): boolean {
  const text = `${name} ${description}`.toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

function columns(isNarrow: boolean): ReadonlyArray<Column<ListedTool>> {
  const all: ReadonlyArray<Column<ListedTool>> = [
    {
      id: "name",
      head: "Name",
      cell: ({ name }) => <code className="font-mono text-sm">{name}</code>,
      width: isNarrow ? "16rem" : "22rem",
    },
    {
      id: "level",
      head: "Level",
      cell: ({ level }) => <ToolLevelBadge level={level} />,
      width: "11rem",
    },
    {
      id: "source",
      head: "Source",
      cell: ({ source }) => (source === "mcp" ? "Tool server" : "Built in"),
      width: "7rem",
    },
    {
      id: "state",
      head: "State",
      cell: (tool) => <ToolState tool={tool} />,
      width: "9rem",
    },
    {
      id: "description",
      head: "Description",
      cell: ({ description }) => <bdi className="text-muted">{description}</bdi>,
      isWideOnly: true,
    },
  ];
  return isNarrow ? all.filter(({ id }) => id !== "description" && id !== "source") : all;
}

function ToolState({ tool }: { readonly tool: ListedTool }) {
  if (!tool.available) return <StatusDot tone="plain">Not usable</StatusDot>;
  if (tool.schema_replaced) return <StatusDot tone="warn">No schema</StatusDot>;
  return <StatusDot tone="ok">Usable</StatusDot>;
}
