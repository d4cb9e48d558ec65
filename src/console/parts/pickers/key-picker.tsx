import { useState } from "react";
import { useApiKey, useFoundApiKeys } from "../../api/queries/api-keys.ts";
import { Combobox } from "../../ui/forms/combobox.tsx";

interface KeyPickerProps {
  /** A key's id, or the empty text. */
  readonly value: string;
  readonly onChange: (id: string) => void;
  readonly label: string;
  /** Shown where none is chosen. */
  readonly placeholder: string;
  readonly className?: string;
}

/** Chooses one of the API keys that one may see, by name. */
export function KeyPicker({ value, ...props }: KeyPickerProps) {
  const [typed, setTyped] = useState("");
  const found = useFoundApiKeys(typed);
  const keys = found.data?.data ?? [];
  const isKnown = value === "" || keys.some(({ id }) => id === value);
  // A key that is deleted has usage still: it is shown by its id.
  const chosen = useApiKey(value, !isKnown);
  const shown = isKnown || chosen.data === undefined ? keys : [chosen.data, ...keys];
  return (
    <Combobox
      {...props}
      value={value}
      choices={shown.map(({ id, name, last_four: end }) => ({
        value: id,
        label: name,
        hint: `…${end}`,
      }))}
      onSearch={setTyped}
      isLoading={found.isFetching}
    />
  );
}
