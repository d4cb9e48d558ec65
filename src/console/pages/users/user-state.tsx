import type { User } from "../../api/queries/users.ts";
import { StatusDot } from "../../ui/status/status-dot.tsx";

/** Whether a user can log in. */
export function UserState({ user }: { readonly user: Pick<User, "state"> }) {
  if (user.state === "active") return <StatusDot tone="ok">Active</StatusDot>;
  return <StatusDot tone="plain">Disabled</StatusDot>;
}
