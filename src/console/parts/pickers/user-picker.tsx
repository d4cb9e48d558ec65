import { useState } from "react";
import { useSession } from "../../api/queries/session.ts";
import { useFoundUsers, useUser } from "../../api/queries/users.ts";
import { Combobox } from "../../ui/forms/combobox.tsx";

interface UserPickerProps {
  /** A user's id, or the empty text. */
  readonly value: string;
  readonly onChange: (id: string) => void;
  readonly label: string;
  /** Shown where nobody is chosen. */
  readonly placeholder: string;
  readonly className?: string;
}

/** Chooses a user by name. For administrators only: others see nothing. */
export function UserPicker(props: UserPickerProps) {
  const isAdmin = useSession().data?.role === "admin";
  return isAdmin ? <Picker {...props} /> : null;
}

function Picker({ value, ...props }: UserPickerProps) {
  const [typed, setTyped] = useState("");
  const found = useFoundUsers(typed, true);
  const users = found.data?.data ?? [];
  const isKnown = value === "" || users.some(({ id }) => id === value);
  const chosen = useUser(value, !isKnown);
  const shown = isKnown || chosen.data === undefined ? users : [chosen.data, ...users];
  return (
    <Combobox
      {...props}
      value={value}
      choices={shown.map(({ id, username }) => ({ value: id, label: username }))}
      onSearch={setTyped}
      isLoading={found.isFetching}
    />
  );
}
