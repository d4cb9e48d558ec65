import { shownKeys } from "../lib/keyboard.ts";

const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);

/** The keys of a shortcut. */
export function KeyHint({ keys }: { readonly keys: string }) {
  return (
    <span className="inline-flex gap-1">
      {shownKeys(keys, isMac).map((key) => (
        <kbd
          key={key}
          className="min-w-[1.25rem] rounded-sm border border-line bg-sunken px-1 text-center font-sans text-xs leading-[1.125rem] text-muted"
        >
          {key}
        </kbd>
      ))}
    </span>
  );
}
