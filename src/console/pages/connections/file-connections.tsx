import { type FileConnection, useFileConnections } from "../../api/queries/vector-stores.ts";
import { wholeList } from "../../api/use-list.ts";
import { ListView } from "../../parts/list-view.tsx";
import { Link } from "../../ui/navigation/link.tsx";
import { EmptyState } from "../../ui/status/empty-state.tsx";
import type { Column } from "../../ui/tables/table-column.ts";

/** The folders of the server that tools may read. They are settings, so they are only shown here. */
export function FileConnections() {
  const folders = useFileConnections(true);
  return (
    <div className="grid gap-3">
      <p className="max-w-prose text-muted">
        Assistants name these folders to read files in them, and vector stores to take files from
        them. They are set in WORKSPACE_DIR and WATCH_DIRS; a change takes effect with a restart (
        <Link to="/system" search={{ view: "settings" }}>
          settings
        </Link>
        ).
      </p>
      <ListView
        label="Folders"
        list={wholeList(folders, folders.data?.data)}
        columns={COLUMNS}
        rowId={({ name }) => name}
        empty={
          <EmptyState title="No folders">
            Name a folder in the setting WORKSPACE_DIR, or folders to be watched in WATCH_DIRS.
          </EmptyState>
        }
      />
    </div>
  );
}

const COLUMNS: ReadonlyArray<Column<FileConnection>> = [
  {
    id: "name",
    head: "Name",
    cell: ({ name }) => <code className="font-mono text-sm">{name}</code>,
  },
  {
    id: "files",
    head: "Its files",
    cell: ({ watched }) =>
      watched ? (
        <>
          are read, and{" "}
          <Link to="/events" search={{ tab: "folders" }}>
            watched
          </Link>
        </>
      ) : (
        "are read; workflows write here"
      ),
  },
  {
    id: "setting",
    head: "Set in",
    cell: ({ watched }) => (
      <code className="font-mono text-sm">{watched ? "WATCH_DIRS" : "WORKSPACE_DIR"}</code>
    ),
    width: "12rem",
  },
];
