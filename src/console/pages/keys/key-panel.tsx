import { type ReactNode, Suspense, useState } from "react";
import { type ApiKey, type IssuedApiKey, useApiKey } from "../../api/queries/api-keys.ts";
import { useSession } from "../../api/queries/session.ts";
import { UserName } from "../../parts/accounts/user-name.tsx";
import { KeyState } from "../../parts/credentials/key-state.tsx";
import { LEVELS } from "../../parts/tool-level.tsx";
import { Button } from "../../ui/buttons/button.tsx";
import { Link } from "../../ui/navigation/link.tsx";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { OnceOpen } from "../../ui/overlays/once-open.tsx";
import { SidePanel } from "../../ui/overlays/side-panel.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { lazyPart } from "../../ui/status/lazy-part.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import { PropertyList } from "../../ui/text/property-list.tsx";
import { Time } from "../../ui/text/time.tsx";
import { useKeys } from "../../ui/use-keys.ts";
import { DeleteDialog, RotateDialog, StateButton } from "./key-actions.tsx";

/** Not needed for the list, and fetches what it shows anyway. */
const KeyUsage = lazyPart(async () => (await import("./key-usage.tsx")).KeyUsage);
const ChangeDialog = lazyPart(async () => (await import("./change-dialog.tsx")).ChangeDialog);

interface KeyPanelProps {
  readonly id: string;
  readonly onClose: () => void;
  /** Called with the new secret after a rotation. */
  readonly onIssued: (issued: IssuedApiKey) => void;
}

/** One key: what it may use, what it has used, and what can be done with it. */
export function KeyPanel({ id, onClose, onIssued }: KeyPanelProps) {
  const { data: apiKey, error, refetch } = useApiKey(id);
  return (
    <SidePanel title={apiKey?.name ?? "Key"} of={id} onClose={onClose}>
      {error !== null && (
        <ErrorCard
          what="The key could not be loaded"
          error={error}
          onRetry={() => void refetch()}
        />
      )}
      {apiKey === undefined && error === null && (
        <Skeleton shape="lines" label="The key is loading" />
      )}
      {apiKey !== undefined && (
        <>
          <Actions apiKey={apiKey} onClose={onClose} onIssued={onIssued} />
          <Properties apiKey={apiKey} />
          <Use apiKey={apiKey} />
        </>
      )}
    </SidePanel>
  );
}

/** What it has used. Only owners are shown where the limits of a key stand. */
function Use({ apiKey }: { readonly apiKey: ApiKey }) {
  const session = useSession().data;
  if (session === undefined) return null;
  if (session.id !== apiKey.owner_id) {
    return (
      <Link to="/usage" search={{ key: apiKey.id }}>
        Show what the key has used
      </Link>
    );
  }
  return (
    <Suspense fallback={<Skeleton shape="block" label="The usage is loading" />}>
      <KeyUsage id={apiKey.id} />
    </Suspense>
  );
}

interface ActionsProps {
  readonly apiKey: ApiKey;
  readonly onClose: () => void;
  readonly onIssued: (issued: IssuedApiKey) => void;
}

function Actions({ apiKey, onClose, onIssued }: ActionsProps) {
  const [open, setOpen] = useState<"change" | "rotate" | "delete">();
  const close = () => setOpen(undefined);
  useKeys([{ keys: "e", label: "Change the open key", run: () => setOpen("change") }]);
  return (
    <div className="flex flex-wrap gap-2">
      <Button onClick={() => setOpen("change")}>Change key</Button>
      <Button onClick={() => setOpen("rotate")}>Rotate key</Button>
      <StateButton apiKey={apiKey} />
      <Button look="danger" onClick={() => setOpen("delete")}>
        Delete key
      </Button>
      <CallButton call={{ method: "GET", path: `/v1/api-keys/${apiKey.id}`, credential: "key" }} />
      <OnceOpen isOpen={open === "change"}>
        <ChangeDialog apiKey={apiKey} isOpen={open === "change"} onClose={close} />
      </OnceOpen>
      <RotateDialog
        apiKey={apiKey}
        isOpen={open === "rotate"}
        onClose={close}
        onIssued={onIssued}
      />
      <DeleteDialog
        apiKey={apiKey}
        isOpen={open === "delete"}
        onClose={close}
        onDeleted={onClose}
      />
    </div>
  );
}

function Properties({ apiKey }: { readonly apiKey: ApiKey }) {
  const code = (text: string): ReactNode => <code className="font-mono text-sm">{text}</code>;
  return (
    <PropertyList
      properties={[
        ["State", <KeyState key="state" apiKey={apiKey} />],
        ["Owner", <UserName key="owner" id={apiKey.owner_id} />],
        ["Key", code(`${apiKey.prefix}…${apiKey.last_four}`)],
        ["Id", code(apiKey.id)],
        ["Made", <Time key="made" value={apiKey.created_at} />],
        ["Last used", <Time key="used" value={apiKey.last_used_at} isRelative />],
        ["Expires", <Time key="expires" value={apiKey.expires_at} />],
        ["Addresses", apiKey.ip_allow.length === 0 ? "any" : apiKey.ip_allow.join(", ")],
        ["Tools may", LEVELS[apiKey.max_level]],
        ["Tools", namesOf(apiKey.tool_scope.tools)],
        ["Connections", namesOf(apiKey.tool_scope.sql_connections)],
        ["Assistant", apiKey.assistant_id ?? "not bound"],
        ["Passthrough", apiKey.passthrough ? "on" : "off"],
      ]}
    />
  );
}

function namesOf(names: readonly string[]): string {
  if (names.length === 0) return "none";
  return names.includes("*") ? "all" : names.join(", ");
}
