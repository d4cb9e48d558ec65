import { useState } from "react";
import {
  type IssuedServiceToken,
  type ServiceToken,
  useServiceToken,
} from "../../api/queries/service-tokens.ts";
import { UserName } from "../../parts/accounts/user-name.tsx";
import { KeyState } from "../../parts/credentials/key-state.tsx";
import { Button } from "../../ui/buttons/button.tsx";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { SidePanel } from "../../ui/overlays/side-panel.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import { PropertyList } from "../../ui/text/property-list.tsx";
import { Time } from "../../ui/text/time.tsx";
import { useKeys } from "../../ui/use-keys.ts";
import { ChangeDialog, RevokeDialog, RotateDialog } from "./token-dialogs.tsx";
import { SCOPES } from "./token-draft.ts";

interface TokenPanelProps {
  readonly id: string;
  readonly onClose: () => void;
  /** Called with the new secret after a rotation. */
  readonly onIssued: (issued: IssuedServiceToken) => void;
}

/** One service token: what it may do, and what can be done with it. */
export function TokenPanel({ id, onClose, onIssued }: TokenPanelProps) {
  const { data: token, error, refetch } = useServiceToken(id);
  return (
    <SidePanel title={token?.name ?? "Service token"} of={id} onClose={onClose}>
      {error !== null && (
        <ErrorCard
          what="The token could not be loaded"
          error={error}
          onRetry={() => void refetch()}
        />
      )}
      {token === undefined && error === null && (
        <Skeleton shape="lines" label="The token is loading" />
      )}
      {token !== undefined && (
        <>
          <Actions token={token} onClose={onClose} onIssued={onIssued} />
          <PropertyList
            properties={[
              ["State", <KeyState key="state" apiKey={{ state: "active", ...token }} />],
              ["Token", <Code key="token">{`${token.prefix}…${token.last_four}`}</Code>],
              ["Id", <Code key="id">{token.id}</Code>],
              ["Made by", <UserName key="by" id={token.created_by} />],
              ["Made", <Time key="made" value={token.created_at} />],
              ["Last used", <Time key="used" value={token.last_used_at} isRelative />],
              ["Expires", <Time key="expires" value={token.expires_at} />],
              ["Addresses", token.ip_allow.length === 0 ? "any" : token.ip_allow.join(", ")],
            ]}
          />
          <Scopes scopes={token.scopes} />
        </>
      )}
    </SidePanel>
  );
}

function Code({ children }: { readonly children: string }) {
  return <code className="font-mono text-sm">{children}</code>;
}

function Scopes({ scopes }: { readonly scopes: readonly string[] }) {
  return (
    <section className="grid gap-2" aria-labelledby="scopes">
      <h3 id="scopes" className="font-medium">
        Scopes
      </h3>
      <ul className="grid gap-2">
        {scopes.map((scope) => (
          <li key={scope}>
            <Code>{scope}</Code>
            <span className="block text-sm text-muted">
              {SCOPES.find((each) => each.scope === scope)?.meaning ??
                "Of another release of the gateway"}
            </span>
          </li>
        ))}
      </ul>
      <p className="text-sm text-muted">
        It works while who made it is an active administrator, and calls no model.
      </p>
    </section>
  );
}

interface ActionsProps extends Pick<TokenPanelProps, "onClose" | "onIssued"> {
  readonly token: ServiceToken;
}

function Actions({ token, onClose, onIssued }: ActionsProps) {
  const [open, setOpen] = useState<"change" | "rotate" | "revoke">();
  const dialog = { token, onClose: () => setOpen(undefined) };
  useKeys([{ keys: "e", label: "Change the open token", run: () => setOpen("change") }]);
  return (
    <div className="flex flex-wrap gap-2">
      <Button onClick={() => setOpen("change")}>Change token</Button>
      <Button onClick={() => setOpen("rotate")}>Rotate token</Button>
      <Button look="danger" onClick={() => setOpen("revoke")}>
        Revoke token
      </Button>
      <CallButton
        call={{ method: "GET", path: `/api/service-tokens/${token.id}`, credential: "session" }}
      />
      <ChangeDialog {...dialog} isOpen={open === "change"} />
      <RotateDialog {...dialog} isOpen={open === "rotate"} onIssued={onIssued} />
      <RevokeDialog {...dialog} isOpen={open === "revoke"} onRevoked={onClose} />
    </div>
  );
}
