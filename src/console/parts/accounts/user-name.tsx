import { useSession } from "../../api/queries/session.ts";
import { useKnownUserName, useUserName } from "../../api/queries/user-names.ts";

interface UserNameProps {
  readonly id: string;
}

/** A user's name, where one may know it: one's own, and to administrators everybody's. */
export function UserName({ id }: UserNameProps) {
  const known = useKnownUserName(id);
  return known === undefined ? <AskedName id={id} /> : <span title={id}>{known ?? id}</span>;
}

function AskedName({ id }: UserNameProps) {
  const session = useSession().data;
  const isOwn = session?.id === id;
  const name = useUserName(id, session?.role === "admin" && !isOwn);
  return <span title={id}>{isOwn ? session.username : (name.data ?? id)}</span>;
}
