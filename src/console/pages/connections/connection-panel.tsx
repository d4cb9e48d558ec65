import { useState } from "react";
import {
  type Connection,
  useConnection,
  useTestConnection,
} from "../../api/queries/connections.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { SidePanel } from "../../ui/overlays/side-panel.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import { PropertyList } from "../../ui/text/property-list.tsx";
import { Time } from "../../ui/text/time.tsx";
import { useKeys } from "../../ui/use-keys.ts";
import { ChangeDialog, DeleteDialog } from "./connection-actions.tsx";
import { KINDS, placeOf, selectText } from "./connection-words.ts";
import { QueryDialog } from "./query-dialog.tsx";
import { Tables } from "./tables.tsx";
import { TrialResult } from "./trial-result.tsx";

/** One connection: where it leads, whether it works, what is in it. */
export function ConnectionPanel({ id, onClose }: { readonly id: string; onClose: () => void }) {
  const { data: connection, error, refetch } = useConnection(id);
  return (
    <SidePanel
      title={connection === undefined ? "Connection" : <bdi>{connection.name}</bdi>}
      of={id}
      onClose={onClose}
    >
      {error !== null && (
        <ErrorCard
          what="The connection could not be loaded"
          error={error}
          onRetry={() => void refetch()}
        />
      )}
      {connection === undefined && error === null && (
        <Skeleton shape="lines" label="The connection is loading" />
      )}
      {connection !== undefined && <Details connection={connection} onClose={onClose} />}
    </SidePanel>
  );
}

interface DetailsProps {
  readonly connection: Connection;
  readonly onClose: () => void;
}

function Details({ connection, onClose }: DetailsProps) {
  const [open, setOpen] = useState<"change" | "delete">();
  // The statement with which the dialog of queries begins.
  const [query, setQuery] = useState<string>();
  const test = useTestConnection(connection.id);
  const close = () => setOpen(undefined);
  useKeys([{ keys: "e", label: "Change the open connection", run: () => setOpen("change") }]);
  return (
    <>
      <div className="flex flex-wrap gap-2">
        <Button isBusy={test.isPending} onClick={() => test.mutate()}>
          Test connection
        </Button>
        <Button onClick={() => setQuery("")}>Run a query</Button>
        <Button onClick={() => setOpen("change")}>Change connection</Button>
        <Button look="danger" onClick={() => setOpen("delete")}>
          Delete connection
        </Button>
        <CallButton
          call={{
            method: "GET",
            path: `/api/connections/${connection.id}`,
            credential: "token",
            scope: "connections:read",
          }}
        />
      </div>
      {connection.password_lost && (
        <p className="rounded-lg border border-line bg-bad-soft p-3">
          The password cannot be opened, because APP_SECRET has changed. Change the connection and
          type it again.
        </p>
      )}
      {test.data !== undefined && <TrialResult trial={test.data} />}
      {test.error !== null && (
        <ErrorCard what="The connection could not be tested" error={test.error} />
      )}
      <Properties connection={connection} />
      <Tables
        connection={connection}
        onSelect={(table) => setQuery(selectText(connection.kind, table))}
      />
      <ChangeDialog connection={connection} isOpen={open === "change"} onClose={close} />
      <DeleteDialog
        connection={connection}
        isOpen={open === "delete"}
        onClose={close}
        onDeleted={onClose}
      />
      <QueryDialog connection={connection} start={query} onClose={() => setQuery(undefined)} />
    </>
  );
}

const TLS = { verify: "verified", on: "any certificate", off: "off: plain text" } as const;

function Properties({ connection }: { readonly connection: Connection }) {
  const { kind, database, user, tls, description, last_test: test } = connection;
  const code = (text: string) => <code className="font-mono text-sm break-all">{text}</code>;
  return (
    <PropertyList
      properties={[
        ["Kind", KINDS[kind]],
        [kind === "sqlite" ? "File" : "Host", code(placeOf(connection))],
        ["Database", database ?? undefined],
        ["User", user ?? undefined],
        ["Password", passwordOf(connection)],
        ["TLS", tls === null ? undefined : TLS[tls]],
        ["Description", description ?? "none"],
        [
          "Last test",
          test === null ? (
            "none since this replica has started"
          ) : (
            <span key="test">
              {test.ok ? "works" : "failed"}, <Time value={test.at} isRelative />
              {test.error !== null && <span className="block text-muted">{test.error}</span>}
            </span>
          ),
        ],
        ["Id", code(connection.id)],
        ["Added", <Time key="added" value={connection.created_at} />],
      ]}
    />
  );
}

function passwordOf({ kind, has_password: isSet }: Connection): string | undefined {
  if (kind === "sqlite") return undefined;
  return isSet ? "set" : "none";
}
