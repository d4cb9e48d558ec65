import { useState } from "react";
import { type IssuedApiKey, useApiKey, useApiKeys } from "../../api/queries/api-keys.ts";
import { Combobox } from "../../ui/combobox.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";

interface KeyChoiceProps {
  /** The id of the key whose calls are watched; the empty text is any of one's own. */
  readonly value: string;
  readonly onChange: (id: string) => void;
  /** The chosen key with its secret, where it was issued just now. */
  readonly issued: IssuedApiKey | undefined;
}

/** Which key the client will use. Its secret is known only where it was issued in this page. */
export function KeyChoice({ value, onChange, issued }: KeyChoiceProps) {
  const [typed, setTyped] = useState("");
  const found = useApiKeys({ state: "active", ...(typed !== "" && { search: typed }) });
  const isFound = value === "" || found.rows.some(({ id }) => id === value);
  const chosen = useApiKey(value, !isFound);
  const shown = chosen.data === undefined ? found.rows : [chosen.data, ...found.rows];
  const choices = shown.map(({ id, name, prefix, last_four: lastFour }) => ({
    value: id,
    label: name,
    hint: `${prefix}…${lastFour}`,
  }));
  return (
    <section aria-label="The key" className="grid gap-2">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <span aria-hidden className="-mr-2 w-12">
          Key
        </span>
        <Combobox
          label="Key"
          placeholder="Any of your keys"
          value={value}
          onChange={onChange}
          choices={choices}
          onSearch={setTyped}
          isLoading={found.isLoading}
          className="min-w-40 max-w-full"
        />
        {issued !== undefined && (
          <>
            <code className="min-w-0 break-all font-mono text-sm">{issued.key}</code>
            <CopyButton text={issued.key} label="Copy the key" />
          </>
        )}
      </div>
      <p className="text-sm text-muted">
        {issued === undefined
          ? "Secrets are shown when a key is issued, and never again. A new key stands in the texts below."
          : "The secret is shown this once: it is gone when you leave this page."}
      </p>
    </section>
  );
}
