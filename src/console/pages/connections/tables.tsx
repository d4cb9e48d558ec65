import { useState } from "react";
import {
  type Connection,
  type ConnectionTable,
  useConnectionTables,
} from "../../api/queries/connections.ts";
import { countOf } from "../../lib/count.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";

interface TablesProps {
  readonly connection: Connection;
  /** Asks for the rows of a table. */
  readonly onSelect: (table: string) => void;
}

/** More are found by typing. */
const SHOWN = 50;

/** The tables and views of a database with their columns. It is asked when somebody wants to see them. */
export function Tables({ connection, onSelect }: TablesProps) {
  const [isWanted, setWanted] = useState(false);
  const [typed, setTyped] = useState("");
  const { data, error, isFetching, refetch } = useConnectionTables(connection.id, isWanted);
  const tables = data?.data ?? [];
  const found = tables.filter(({ name }) => name.toLowerCase().includes(typed.toLowerCase()));
  return (
    <section className="grid gap-3" aria-labelledby="tables">
      <h3 id="tables" className="text-base">
        Tables {data !== undefined && <span className="text-muted">{tables.length}</span>}
      </h3>
      {!isWanted && (
        <div>
          <Button onClick={() => setWanted(true)}>Show tables</Button>
        </div>
      )}
      {isFetching && data === undefined && <Skeleton shape="lines" label="Tables are loading" />}
      {error !== null && !isFetching && (
        <ErrorCard
          what="The tables could not be read"
          error={error}
          onRetry={() => void refetch()}
        />
      )}
      {data !== undefined && tables.length === 0 && (
        <p className="text-muted">There is no table that its user may read.</p>
      )}
      {tables.length > SHOWN && (
        <input
          type="search"
          aria-label="Find a table"
          placeholder="Find a table"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          className="control w-full"
        />
      )}
      <ul className="grid gap-1">
        {found.slice(0, SHOWN).map((table) => (
          <TableEntry key={table.name} table={table} onSelect={onSelect} />
        ))}
      </ul>
      {found.length > SHOWN && (
        <p className="text-sm text-muted">
          And {found.length - SHOWN} more; type a part of a name.
        </p>
      )}
    </section>
  );
}

function TableEntry({
  table: { name, columns },
  onSelect,
}: {
  readonly table: ConnectionTable;
  readonly onSelect: (table: string) => void;
}) {
  return (
    <li>
      <details className="min-w-0">
        <summary className="flex min-h-(--control) cursor-pointer items-center gap-2">
          <code className="min-w-0 font-mono text-sm break-all">
            <bdi>{name}</bdi>
          </code>
          <span className="text-sm text-muted">{countOf(columns.length, "column")}</span>
        </summary>
        <div className="grid gap-2 pb-2 pl-4">
          <ul className="grid gap-1">
            {columns.map((column) => (
              <li key={column.name} className="flex flex-wrap gap-x-2">
                <code className="font-mono text-sm break-all">
                  <bdi>{column.name}</bdi>
                </code>
                <span className="text-sm text-muted">{column.type}</span>
              </li>
            ))}
          </ul>
          <div>
            <Button onClick={() => onSelect(name)}>Read rows</Button>
          </div>
        </div>
      </details>
    </li>
  );
}
