import { Plus } from "lucide-react";
import { useState } from "react";
import {
  type IssuedServiceToken,
  type ServiceToken,
  useServiceTokens,
} from "../../api/queries/service-tokens.ts";
import { stringifySearch } from "../../lib/url-state.ts";
import { UserName } from "../../parts/accounts/user-name.tsx";
import { KeyState } from "../../parts/credentials/key-state.tsx";
import { ListView } from "../../parts/list-view.tsx";
import { Button } from "../../ui/buttons/button.tsx";
import { PageHeader } from "../../ui/navigation/page-header.tsx";
import { useOpenRow } from "../../ui/navigation/use-open-row.ts";
import { useUrlState } from "../../ui/navigation/use-url-state.ts";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { EmptyState } from "../../ui/status/empty-state.tsx";
import { FilterBar } from "../../ui/tables/filter-bar.tsx";
import type { Column } from "../../ui/tables/table-column.ts";
import { Time } from "../../ui/text/time.tsx";
import { useKeys } from "../../ui/use-keys.ts";
import { ServiceTokenDialog } from "./service-token-dialog.tsx";
import { IssueDialog } from "./token-dialogs.tsx";
import { TokenPanel } from "./token-panel.tsx";

const DEFAULTS = { search: "" };

/** The credentials of programs that administer: what each may do, who made it, when it was last used. */
export function Page() {
  const [state, change] = useUrlState(DEFAULTS);
  const { openId, open, close } = useOpenRow("service-tokens");
  const [isIssuing, setIssuing] = useState(false);
  // The secret is here and nowhere else, and gone with the page.
  const [issued, setIssued] = useState<IssuedServiceToken>();
  const filters = state.search === "" ? {} : { search: state.search };
  const list = useServiceTokens(filters);
  const isFiltered = state.search !== "";
  useKeys([{ keys: "n", label: "New token", run: () => setIssuing(true) }]);
  const newToken = (
    <Button look="primary" onClick={() => setIssuing(true)}>
      <Plus size={16} aria-hidden />
      New token
    </Button>
  );
  return (
    <>
      <PageHeader title="Service tokens" aside={list.total}>
        {newToken}
        <CallButton
          call={{
            method: "GET",
            path: `/api/service-tokens${stringifySearch(filters)}`,
            credential: "session",
          }}
        />
      </PageHeader>
      <FilterBar
        search={{
          label: "Name, id or last four",
          value: state.search,
          onChange: (search) => change({ search }),
        }}
        active={isFiltered ? 1 : 0}
        onClear={() => change(DEFAULTS)}
      />
      <div className="flex min-w-0 flex-1 items-start gap-4">
        <ListView
          label="Service tokens"
          list={list}
          columns={openId === undefined ? COLUMNS : COLUMNS.filter(({ id }) => NARROW.has(id))}
          rowId={({ id }) => id}
          openId={openId}
          onOpen={open}
          empty={
            <EmptyState
              title={isFiltered ? "No token fits the search" : "No service tokens yet"}
              action={isFiltered ? undefined : newToken}
            >
              A service token lets a program administer the gateway, as far as its scopes go.
            </EmptyState>
          }
        />
        {openId !== undefined && (
          <TokenPanel key={openId} id={openId} onClose={close} onIssued={setIssued} />
        )}
      </div>
      <IssueDialog isOpen={isIssuing} onClose={() => setIssuing(false)} onIssued={setIssued} />
      <ServiceTokenDialog issued={issued} onClose={() => setIssued(undefined)} />
    </>
  );
}

const NARROW: ReadonlySet<string> = new Set(["name", "state", "used"]);
const COLUMNS: ReadonlyArray<Column<ServiceToken>> = [
  { id: "name", head: "Name", cell: ({ name }) => name, width: "14rem" },
  {
    id: "token",
    head: "Token",
    cell: (token) => (
      <code className="font-mono text-sm">{`${token.prefix}…${token.last_four}`}</code>
    ),
    width: "7rem",
    isWideOnly: true,
  },
  {
    id: "state",
    head: "State",
    cell: (token) => <KeyState apiKey={{ state: "active", ...token }} />,
    width: "7rem",
  },
  {
    id: "scopes",
    head: "Scopes",
    cell: ({ scopes }) => <span title={scopes.join(", ")}>{scopes.join(", ")}</span>,
  },
  {
    id: "by",
    head: "Made by",
    cell: ({ created_by: id }) => <UserName id={id} />,
    width: "8rem",
    isWideOnly: true,
  },
  {
    id: "used",
    head: "Last used",
    cell: (token) => <Time value={token.last_used_at} isRelative />,
    width: "8rem",
  },
  {
    id: "expires",
    head: "Expires",
    cell: (token) => <Time value={token.expires_at} isRelative />,
    width: "8rem",
  },
];
