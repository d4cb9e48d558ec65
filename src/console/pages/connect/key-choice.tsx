import type { IssuedApiKey } from "../../api/queries/api-keys.ts";
import { KeyPicker } from "../../parts/pickers/key-picker.tsx";
import { CopyButton } from "../../ui/buttons/copy-button.tsx";

interface KeyChoiceProps {
  /** The id of the key whose calls are watched; the empty text is any of one's own. */
  readonly value: string;
  readonly onChange: (id: string) => void;
  /** The chosen key with its secret, where it was issued just now. */
  readonly issued: IssuedApiKey | undefined;
}

/** Which key the client will use. Its secret is known only where it was issued in this page. */
export function KeyChoice({ value, onChange, issued }: KeyChoiceProps) {
  return (
    <section aria-label="The key" className="grid gap-2">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <span className="flex min-w-0 max-w-full flex-wrap items-center gap-2">
          <span aria-hidden>Key</span>
          <KeyPicker
            label="Key"
            placeholder="Any of your keys"
            value={value}
            onChange={onChange}
            className="min-w-0 max-w-full"
          />
        </span>
        {issued !== undefined && (
          <span className="flex min-w-0 items-center gap-1">
            <code className="min-w-0 break-all font-mono text-sm">{issued.key}</code>
            <CopyButton text={issued.key} label="Copy the key" />
          </span>
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
