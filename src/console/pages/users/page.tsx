import { Plus } from "lucide-react";
import { useState } from "react";
import { useLicenseDetails } from "../../api/queries/license.ts";
import { type User, useUsers } from "../../api/queries/users.ts";
import { stringifySearch } from "../../lib/url-state.ts";
import { ListView } from "../../parts/list-view.tsx";
import { Button } from "../../ui/buttons/button.tsx";
import { PageHeader } from "../../ui/navigation/page-header.tsx";
import { useOpenRow } from "../../ui/navigation/use-open-row.ts";
import { useUrlState } from "../../ui/navigation/use-url-state.ts";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { EmptyState } from "../../ui/status/empty-state.tsx";
import { FilterBar } from "../../ui/tables/filter-bar.tsx";
import type { Column } from "../../ui/tables/table-column.ts";
import { Count } from "../../ui/text/count.tsx";
import { Time } from "../../ui/text/time.tsx";
import { useKeys } from "../../ui/use-keys.ts";
import { CreateDialog } from "./create-dialog.tsx";
import { PasswordDialog, type ShownPassword } from "./password-dialog.tsx";
import { UserPanel } from "./user-panel.tsx";
import { UserState } from "./user-state.tsx";

const DEFAULTS = { search: "" };

/** The people who can log in. */
export function Page() {
  const [state, change] = useUrlState(DEFAULTS);
  const { openId, open, close } = useOpenRow("users");
  const [isCreating, setCreating] = useState(false);
  // Shown once, and gone with the page.
  const [shown, setShown] = useState<ShownPassword>();
  const list = useUsers(state);
  const license = useLicenseDetails().data;
  useKeys([{ keys: "n", label: "New user", run: () => setCreating(true) }]);
  const isNarrow = openId !== undefined;
  return (
    <>
      <PageHeader
        title="Users"
        aside={license && `${license.users} active of ${license.max_users} of the license`}
      >
        <Button look="primary" onClick={() => setCreating(true)}>
          <Plus size={16} aria-hidden />
          New user
        </Button>
        <CallButton
          call={{
            method: "GET",
            path: `/api/admin/users${stringifySearch(state)}`,
            credential: "token",
            scope: "users:read",
          }}
        />
      </PageHeader>
      <FilterBar
        search={{ label: "Name", value: state.search, onChange: (search) => change({ search }) }}
        active={state.search === "" ? 0 : 1}
        onClear={() => change(DEFAULTS)}
      />
      <div className="flex min-w-0 flex-1 items-start gap-4">
        <ListView
          label="Users"
          list={list}
          columns={isNarrow ? COLUMNS.filter(({ id }) => NARROW.has(id)) : COLUMNS}
          rowId={({ id }) => id}
          openId={openId}
          onOpen={open}
          empty={
            <EmptyState title="No user has this in the name">
              The search looks for a part of the name, in any case.
            </EmptyState>
          }
        />
        {openId !== undefined && (
          <UserPanel key={openId} id={openId} onClose={close} onPassword={setShown} />
        )}
      </div>
      <CreateDialog isOpen={isCreating} onClose={() => setCreating(false)} onPassword={setShown} />
      <PasswordDialog shown={shown} onClose={() => setShown(undefined)} />
    </>
  );
}

const NARROW: ReadonlySet<string> = new Set(["name", "role", "state"]);
const COLUMNS: ReadonlyArray<Column<User>> = [
  { id: "name", head: "Name", cell: ({ username }) => username },
  {
    id: "role",
    head: "Role",
    cell: ({ role }) => (role === "admin" ? "Administrator" : "User"),
    width: "9rem",
  },
  {
    id: "state",
    head: "State",
    cell: (user) => <UserState user={user} />,
    width: "8rem",
  },
  {
    id: "keys",
    head: "Keys",
    cell: (user) => <Count value={user.key_count} />,
    isNumber: true,
    width: "5rem",
    isWideOnly: true,
  },
  {
    id: "month",
    head: "Tokens a month",
    cell: (user) => <Count value={user.monthly_token_limit} />,
    isNumber: true,
    width: "9rem",
  },
  {
    id: "login",
    head: "Last login",
    cell: (user) => <Time value={user.last_login_at} isRelative />,
    width: "9rem",
  },
];
