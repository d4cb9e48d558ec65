import { Plus } from "lucide-react";
import { useMemo, useState } from "react";
import { type ApiKeyFilters, type IssuedApiKey, useApiKeys } from "../../api/queries/api-keys.ts";
import { useSession } from "../../api/queries/session.ts";
import { stringifySearch } from "../../lib/url-state.ts";
import { ListView } from "../../parts/list-view.tsx";
import { UserPicker } from "../../parts/pickers/user-picker.tsx";
import { Button } from "../../ui/buttons/button.tsx";
import { Select } from "../../ui/forms/select.tsx";
import { PageHeader } from "../../ui/navigation/page-header.tsx";
import { useOpenRow } from "../../ui/navigation/use-open-row.ts";
import { useUrlState } from "../../ui/navigation/use-url-state.ts";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { OnceOpen } from "../../ui/overlays/once-open.tsx";
import { EmptyState } from "../../ui/status/empty-state.tsx";
import { lazyPart } from "../../ui/status/lazy-part.tsx";
import { FilterBar } from "../../ui/tables/filter-bar.tsx";
import { useKeys } from "../../ui/use-keys.ts";
import { ApiKeyDialog } from "./api-key-dialog.tsx";
import { keyColumns } from "./key-columns.tsx";
import { KeyPanel } from "./key-panel.tsx";

const IssueDialog = lazyPart(async () => (await import("./issue-dialog.tsx")).IssueDialog);

const DEFAULTS = { search: "", state: "", owner: "" };

/** The API keys that one may see: who uses them, what they may use, and what they have used. */
export function Page() {
  const [state, change] = useUrlState(DEFAULTS);
  const { openId, open, close } = useOpenRow("keys");
  const [isIssuing, setIssuing] = useState(false);
  // The secret is here and nowhere else, and gone with the page.
  const [issued, setIssued] = useState<IssuedApiKey>();
  const isAdmin = useSession().data?.role === "admin";
  const filters = toFilters(state);
  const list = useApiKeys(filters);
  const isNarrow = openId !== undefined;
  const columns = useMemo(() => keyColumns(isAdmin, isNarrow), [isAdmin, isNarrow]);
  const active = Object.values(state).filter((value) => value !== "").length;
  useKeys([{ keys: "n", label: "New key", run: () => setIssuing(true) }]);
  const newKey = (
    <Button look="primary" onClick={() => setIssuing(true)}>
      <Plus size={16} aria-hidden />
      New key
    </Button>
  );
  return (
    <>
      <PageHeader title="API keys" aside={list.total}>
        {newKey}
        <CallButton
          call={{
            method: "GET",
            path: `/v1/api-keys${stringifySearch(filters)}`,
            credential: "key",
          }}
        />
      </PageHeader>
      <FilterBar
        search={{
          label: "Name, id or last four",
          value: state.search,
          onChange: (search) => change({ search }),
        }}
        active={active}
        onClear={() => change(DEFAULTS)}
      >
        <Select
          label="State"
          value={state.state}
          onChange={(next) => change({ state: next })}
          choices={[
            { value: "", label: "Any state" },
            { value: "active", label: "Active" },
            { value: "inactive", label: "Off" },
          ]}
        />
        <UserPicker
          value={state.owner}
          onChange={(owner) => change({ owner })}
          label="Owner"
          placeholder="Any owner"
        />
      </FilterBar>
      <div className="flex min-w-0 flex-1 items-start gap-4">
        <ListView
          label="API keys"
          list={list}
          columns={columns}
          rowId={({ id }) => id}
          openId={openId}
          onOpen={open}
          empty={
            <EmptyState
              title={active > 0 ? "No key fits the filters" : "No keys yet"}
              action={active > 0 ? undefined : newKey}
            >
              A key lets a program use the gateway, with its own limits, expiry and usage.
            </EmptyState>
          }
        />
        {openId !== undefined && (
          <KeyPanel key={openId} id={openId} onClose={close} onIssued={setIssued} />
        )}
      </div>
      <OnceOpen isOpen={isIssuing}>
        <IssueDialog isOpen={isIssuing} onClose={() => setIssuing(false)} onIssued={setIssued} />
      </OnceOpen>
      <ApiKeyDialog issued={issued} onClose={() => setIssued(undefined)} />
    </>
  );
}

function toFilters(state: typeof DEFAULTS): ApiKeyFilters {
  const keyState = state.state === "active" || state.state === "inactive" ? state.state : undefined;
  return {
    ...(state.search !== "" && { search: state.search }),
    ...(state.owner !== "" && { owner_id: state.owner }),
    ...(keyState && { state: keyState }),
  };
}
