import { useWatchedFolders, type WatchedFolder } from "../../api/queries/events.ts";
import { wholeList } from "../../api/use-list.ts";
import { ListView } from "../../parts/list-view.tsx";
import type { Tone } from "../../ui/status/badge.tsx";
import { EmptyState } from "../../ui/status/empty-state.tsx";
import { StatusDot } from "../../ui/status/status-dot.tsx";
import type { Column } from "../../ui/tables/table-column.ts";
import { Count } from "../../ui/text/count.tsx";
import { Time } from "../../ui/text/time.tsx";

/** The folders whose files become events, as this replica sees them. */
export function WatchedFolders() {
  const folders = useWatchedFolders();
  return (
    <ListView
      label="Watched folders"
      list={wholeList(folders, folders.data?.data)}
      columns={COLUMNS}
      rowId={({ folder }) => folder}
      empty={
        <EmptyState title="No folder is watched">
          Name folders in the setting WATCH_DIRS: each file that is new, changed or gone there
          becomes an event, which workflows and knowledge can wait for.
        </EmptyState>
      }
    />
  );
}

const STATES: Readonly<Record<string, { readonly label: string; readonly tone: Tone }>> = {
  starting: { label: "Starting", tone: "plain" },
  watched: { label: "Watched", tone: "ok" },
  elsewhere: { label: "Watched by another replica", tone: "plain" },
  away: { label: "Away", tone: "bad" },
  waiting: { label: "Waiting", tone: "warn" },
};

const COLUMNS: ReadonlyArray<Column<WatchedFolder>> = [
  {
    id: "folder",
    head: "Folder",
    cell: ({ folder }) => (
      <code className="font-mono text-sm" title={folder}>
        {folder}
      </code>
    ),
  },
  {
    id: "state",
    head: "State",
    cell: ({ state }) => (
      <StatusDot tone={STATES[state]?.tone ?? "plain"}>{STATES[state]?.label ?? state}</StatusDot>
    ),
    width: "13rem",
  },
  {
    id: "since",
    head: "Since",
    cell: ({ since }) => <Time value={since} isRelative />,
    width: "8rem",
  },
  {
    id: "cause",
    head: "Why",
    cell: ({ cause }) => <span title={cause ?? undefined}>{cause ?? "–"}</span>,
  },
  {
    id: "files",
    head: "Files",
    cell: ({ files }) => <Count value={files} />,
    width: "6rem",
    isNumber: true,
  },
  {
    id: "checked",
    head: "Last look",
    cell: ({ checked_at: at }) => <Time value={at} isRelative />,
    width: "8rem",
  },
];
