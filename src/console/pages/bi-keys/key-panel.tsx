import { useState } from "react";
import {
  type BiKey,
  type IssuedBiKey,
  useBiKey,
  useBiStatements,
} from "../../api/queries/bi-keys.ts";
import { countOf } from "../../lib/count.ts";
import { UserName } from "../../parts/accounts/user-name.tsx";
import { KeyState } from "../../parts/credentials/key-state.tsx";
import { Button } from "../../ui/buttons/button.tsx";
import { Link } from "../../ui/navigation/link.tsx";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { SidePanel } from "../../ui/overlays/side-panel.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import { Count } from "../../ui/text/count.tsx";
import { PropertyList } from "../../ui/text/property-list.tsx";
import { Time } from "../../ui/text/time.tsx";
import { useKeys } from "../../ui/use-keys.ts";
import { ChangeDialog, RevokeDialog, RotateDialog, StateDialog } from "./key-dialogs.tsx";
import { tablesOf } from "./key-draft.ts";
import { StatementOutcome } from "./statement-outcome.tsx";

interface KeyPanelProps {
  readonly id: string;
  readonly onClose: () => void;
  /** Called with the new secret after a rotation. */
  readonly onIssued: (issued: IssuedBiKey) => void;
}

/** One BI key: what it may read, what it read last, and what can be done with it. */
export function KeyPanel({ id, onClose, onIssued }: KeyPanelProps) {
  const { data: biKey, error, refetch } = useBiKey(id);
  return (
    <SidePanel title={biKey?.name ?? "BI key"} of={id} onClose={onClose}>
      {error !== null && (
        <ErrorCard
          what="The BI key could not be loaded"
          error={error}
          onRetry={() => void refetch()}
        />
      )}
      {biKey === undefined && error === null && (
        <Skeleton shape="lines" label="The BI key is loading" />
      )}
      {biKey !== undefined && (
        <>
          <Actions biKey={biKey} onClose={onClose} onIssued={onIssued} />
          <Properties biKey={biKey} />
          <LastStatements id={id} />
        </>
      )}
    </SidePanel>
  );
}

function Properties({ biKey }: { readonly biKey: BiKey }) {
  return (
    <PropertyList
      properties={[
        ["State", <KeyState key="state" apiKey={biKey} />],
        ["Tables", tablesOf(biKey)],
        ["Rows a statement", <Count key="rows" value={biKey.row_limit} />],
        ["Statement ends after", `${biKey.timeout_seconds} s`],
        ["Connections", biKey.max_connections],
        ["Addresses", biKey.ip_allow.length === 0 ? "any" : biKey.ip_allow.join(", ")],
        ["Expires", <Time key="expires" value={biKey.expires_at} />],
        ["Last used", <Time key="used" value={biKey.last_used_at} isRelative />],
        ["Made", <Time key="made" value={biKey.created_at} />],
        ["Owner", <UserName key="owner" id={biKey.owner_id} />],
        [
          "Key",
          <code
            key="key"
            className="font-mono text-sm"
          >{`${biKey.prefix}…${biKey.last_four}`}</code>,
        ],
        [
          "Id",
          <code key="id" className="font-mono text-sm">
            {biKey.id}
          </code>,
        ],
      ]}
    />
  );
}

const SHOWN = 5;

function LastStatements({ id }: { readonly id: string }) {
  const { rows, isLoading, error, retry, hasMore } = useBiStatements({ principal_id: id }, SHOWN);
  const shown = rows.slice(0, SHOWN);
  return (
    <section className="grid gap-2" aria-labelledby="statements">
      <h3 id="statements" className="font-medium">
        Last statements
      </h3>
      {error !== null && (
        <ErrorCard what="The statements could not be loaded" error={error} onRetry={retry} />
      )}
      {isLoading && <Skeleton shape="lines" count={3} label="The statements are loading" />}
      {!isLoading && error === null && shown.length === 0 && (
        <p className="text-muted">None in the last 30 days.</p>
      )}
      <ul className="grid gap-3">
        {shown.map((line) => (
          <li key={line.id} className="grid gap-1">
            <code className="line-clamp-3 break-words font-mono text-sm" title={line.statement}>
              {line.statement}
            </code>
            <span className="flex flex-wrap items-center gap-x-3 text-sm text-muted">
              <StatementOutcome line={line} />
              <span>{countOf(line.rows, "row")}</span>
              <Time value={line.started_at} isRelative />
            </span>
          </li>
        ))}
      </ul>
      {(hasMore || shown.length > 0) && (
        <p>
          <Link to="/bi-keys" search={{ view: "statements", key: id }}>
            All statements of this key
          </Link>
        </p>
      )}
    </section>
  );
}

interface ActionsProps extends Pick<KeyPanelProps, "onClose" | "onIssued"> {
  readonly biKey: BiKey;
}

function Actions({ biKey, onClose, onIssued }: ActionsProps) {
  const [open, setOpen] = useState<"change" | "rotate" | "state" | "revoke">();
  const dialog = { biKey, onClose: () => setOpen(undefined) };
  useKeys([{ keys: "e", label: "Change the open BI key", run: () => setOpen("change") }]);
  return (
    <div className="flex flex-wrap gap-2">
      <Button onClick={() => setOpen("change")}>Change BI key</Button>
      <Button onClick={() => setOpen("rotate")}>Rotate BI key</Button>
      <Button onClick={() => setOpen("state")}>
        {biKey.state === "active" ? "Disable BI key" : "Enable BI key"}
      </Button>
      <Button look="danger" onClick={() => setOpen("revoke")}>
        Revoke BI key
      </Button>
      <CallButton
        call={{
          method: "GET",
          path: `/v1/bi-keys/${biKey.id}`,
          credential: "token",
          scope: "keys:read",
        }}
      />
      <ChangeDialog {...dialog} isOpen={open === "change"} />
      <RotateDialog {...dialog} isOpen={open === "rotate"} onIssued={onIssued} />
      <StateDialog {...dialog} isOpen={open === "state"} />
      <RevokeDialog {...dialog} isOpen={open === "revoke"} onRevoked={onClose} />
    </div>
  );
}
