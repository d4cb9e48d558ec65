import type { ApiKey } from "../../api/queries/api-keys.ts";
import { UserName } from "../../parts/accounts/user-name.tsx";
import { KeyState } from "../../parts/credentials/key-state.tsx";
import type { Column } from "../../ui/tables/table-column.ts";
import { Count } from "../../ui/text/count.tsx";
import { Time } from "../../ui/text/time.tsx";

/**
 * The columns of the list. Only administrators see other people's keys, and beside an open key only the first columns
 * have room.
 */
export function keyColumns(hasOwner: boolean, isNarrow: boolean): ReadonlyArray<Column<ApiKey>> {
  const columns: Array<Column<ApiKey>> = [
    { id: "name", head: "Name", cell: ({ name }) => name },
    {
      id: "owner",
      head: "Owner",
      cell: ({ owner_id: id }) => <UserName id={id} />,
      width: "9rem",
      isWideOnly: true,
    },
    {
      id: "key",
      head: "Key",
      cell: (key) => <code className="font-mono text-sm">{`${key.prefix}…${key.last_four}`}</code>,
      width: "7rem",
      isWideOnly: true,
    },
    { id: "state", head: "State", cell: (key) => <KeyState apiKey={key} />, width: "7rem" },
    {
      id: "month",
      head: "Tokens a month",
      cell: (key) => <Count value={key.monthly_token_limit} />,
      isNumber: true,
      width: "9rem",
    },
    {
      id: "rpm",
      head: "Calls a minute",
      cell: (key) => <Count value={key.rpm_limit} />,
      isNumber: true,
      width: "8rem",
    },
    {
      id: "used",
      head: "Last used",
      cell: (key) => <Time value={key.last_used_at} isRelative />,
      width: "8rem",
    },
    {
      id: "expires",
      head: "Expires",
      cell: (key) => <Time value={key.expires_at} isRelative />,
      width: "8rem",
      isWideOnly: true,
    },
  ];
  const kept = isNarrow ? new Set(["name", "key", "state", "used"]) : undefined;
  return columns.filter(({ id }) => (id !== "owner" || hasOwner) && (kept?.has(id) ?? true));
}
