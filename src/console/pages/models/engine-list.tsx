import { type Engine, useEngines, useRecheckEngines } from "../../api/queries/engines.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import { Table } from "../../ui/tables/table.tsx";
import type { Column } from "../../ui/tables/table-column.ts";
import { Count } from "../../ui/text/count.tsx";
import { Time } from "../../ui/text/time.tsx";
import { EngineState } from "./model-state.tsx";

/** The servers behind the models, for administrators. */
export function EngineList() {
  const { data, error, refetch } = useEngines();
  const recheck = useRecheckEngines();
  return (
    <section aria-labelledby="engines" className="grid gap-3">
      <div className="flex flex-wrap items-center gap-2">
        <h2 id="engines" className="text-lg">
          Engines
        </h2>
        <div className="ml-auto flex flex-wrap gap-2">
          <Button isBusy={recheck.isPending} onClick={() => recheck.mutate()}>
            Recheck engines
          </Button>
          <CallButton call={{ method: "GET", path: "/api/admin/engines", credential: "session" }} />
        </div>
      </div>
      {(error ?? recheck.error) !== null && (
        <ErrorCard
          what="The engines could not be loaded"
          error={error ?? recheck.error}
          onRetry={() => void refetch()}
        />
      )}
      {data === undefined && error === null && (
        <Skeleton shape="rows" count={2} label="Engines are loading" />
      )}
      {data !== undefined && (
        <Table
          label="Engines"
          columns={COLUMNS}
          rows={data.data}
          rowId={({ backend, host }) => `${backend} ${host}`}
        />
      )}
    </section>
  );
}

const COLUMNS: ReadonlyArray<Column<Engine>> = [
  {
    id: "host",
    head: "Host",
    cell: ({ host }) => <code className="font-mono text-sm">{host}</code>,
  },
  { id: "backend", head: "Backend", cell: ({ backend }) => backend, width: "9rem" },
  {
    id: "state",
    head: "State",
    cell: (engine) => <EngineState engine={engine} />,
    width: "9rem",
  },
  {
    id: "since",
    head: "Since",
    cell: ({ since }) => <Time value={since} isRelative instead="–" />,
    width: "8rem",
  },
  {
    id: "calls",
    head: "Calls under way",
    cell: (engine) => <Count value={engine.open_calls} />,
    isNumber: true,
    width: "9rem",
  },
  {
    id: "models",
    head: "Models",
    cell: ({ models }) => <Count value={models?.length} />,
    isNumber: true,
    width: "6rem",
  },
  {
    id: "failure",
    head: "What is wrong",
    cell: ({ failure }) => failure ?? <span className="text-muted">nothing</span>,
  },
];
