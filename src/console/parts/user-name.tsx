import { useSession } from "../api/queries/session.ts";
import { useUser } from "../api/queries/users.ts";

/** A user's name, where one may know it: one's own, and to administrators everybody's. */
export function UserName({ id }: { readonly id: string }) {
  const session = useSession().data;
  const isOwn = session?.id === id;
  const user = useUser(id, session?.role === "admin" && !isOwn);
  return <span title={id}>{isOwn ? session.username : (user.data?.username ?? id)}</span>;
}
