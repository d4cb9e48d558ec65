import { useState } from "react";
import { useSession } from "../../api/queries/session.ts";
import { type User, useUser } from "../../api/queries/users.ts";
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
import { Identities } from "./identities.tsx";
import type { ShownPassword } from "./password-dialog.tsx";
import {
  ChangeUserDialog,
  DeleteUserDialog,
  NewPasswordDialog,
  UserStateButton,
} from "./user-actions.tsx";
import { UserState } from "./user-state.tsx";

interface UserPanelProps {
  readonly id: string;
  readonly onClose: () => void;
  readonly onPassword: (shown: ShownPassword) => void;
}

/** One user, and what an administrator can do with them. */
export function UserPanel({ id, onClose, onPassword }: UserPanelProps) {
  const { data: user, error, refetch } = useUser(id);
  return (
    <SidePanel title={user?.username ?? "User"} of={id} onClose={onClose}>
      {error !== null && (
        <ErrorCard
          what="The user could not be loaded"
          error={error}
          onRetry={() => void refetch()}
        />
      )}
      {user === undefined && error === null && (
        <Skeleton shape="lines" label="The user is loading" />
      )}
      {user !== undefined && (
        <>
          <Actions user={user} onClose={onClose} onPassword={onPassword} />
          <PropertyList
            properties={[
              ["Role", user.role === "admin" ? "Administrator" : "User"],
              ["State", <UserState key="state" user={user} />],
              ["Made", <Time key="made" value={user.created_at} />],
              ["Last login", <Time key="login" value={user.last_login_at} isRelative />],
              ["Password", user.must_change_password ? "to be changed at the next login" : "own"],
              [
                "Keys",
                <Link key="keys" to="/keys" search={{ owner: user.id }}>
                  {user.key_count}
                </Link>,
              ],
              [
                "Tokens a month",
                <Count key="month" value={user.monthly_token_limit} instead="unlimited" />,
              ],
              ["Calls a minute", <Count key="rpm" value={user.rpm_limit} instead="unlimited" />],
            ]}
          />
          <Identities user={user} />
        </>
      )}
    </SidePanel>
  );
}

interface ActionsProps {
  readonly user: User;
  readonly onClose: () => void;
  readonly onPassword: (shown: ShownPassword) => void;
}

function Actions({ user, onClose, onPassword }: ActionsProps) {
  const [open, setOpen] = useState<"change" | "password" | "delete">();
  const own = useSession().data?.id === user.id ? "This is you." : undefined;
  const dialog = { user, onClose: () => setOpen(undefined) };
  useKeys([{ keys: "e", label: "Change the open user", run: () => setOpen("change") }]);
  return (
    <div className="flex flex-wrap gap-2">
      <Button onClick={() => setOpen("change")}>Change user</Button>
      <Button
        disabledReason={own && "This is you: change your password under Your account."}
        onClick={() => setOpen("password")}
      >
        Reset password
      </Button>
      <UserStateButton user={user} disabledReason={own} />
      <Button look="danger" disabledReason={own} onClick={() => setOpen("delete")}>
        Delete user
      </Button>
      <CallButton
        call={{
          method: "GET",
          path: `/api/admin/users/${user.id}`,
          credential: "token",
          scope: "users:read",
        }}
      />
      <ChangeUserDialog {...dialog} isOpen={open === "change"} />
      <NewPasswordDialog {...dialog} isOpen={open === "password"} onPassword={onPassword} />
      <DeleteUserDialog {...dialog} isOpen={open === "delete"} onDeleted={onClose} />
    </div>
  );
}
