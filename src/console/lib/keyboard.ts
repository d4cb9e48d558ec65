/** Keys, without a document: what was pressed, and which binding it means. */

export interface PressedKey {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
  readonly shiftKey: boolean;
  readonly isComposing: boolean;
}

/** How long the first key of a sequence such as `g k` waits for its second, in milliseconds. */
const SEQUENCE_MS = 1_200;

/** Returns `mod+k`, `mod+shift+o`, `?`, `Enter`: Ctrl and ⌘ are one. Undefined while a text is being composed. */
export function nameOfKey(pressed: PressedKey): string | undefined {
  if (pressed.isComposing || pressed.altKey) return undefined;
  const hasMod = pressed.ctrlKey || pressed.metaKey;
  const key = pressed.key.length === 1 ? pressed.key.toLowerCase() : pressed.key;
  // Of signs such as ? the shift key is a part already; of letters it is not.
  const isShifted = pressed.shiftKey && (hasMod || /^[a-z]$/.test(key));
  return [hasMod && "mod", isShifted && "shift", key].filter(Boolean).join("+");
}

/** Whether a key is one character without ⌘ or Ctrl: those never act while somebody types. */
export function isSingleKey(binding: string): boolean {
  return !binding.startsWith("mod+") && binding !== "Escape";
}

/** Whether keys that reach this element are text. */
export function isTextEntry(
  target: { readonly tagName?: string; readonly isContentEditable?: boolean; type?: string } | null,
): boolean {
  if (target === null) return false;
  if (target.isContentEditable === true) return true;
  if (target.tagName === "TEXTAREA" || target.tagName === "SELECT") return true;
  const isButton = ["checkbox", "radio", "button", "submit", "file"].includes(target.type ?? "");
  return target.tagName === "INPUT" && !isButton;
}

/** Creates the reader of sequences: it returns the binding that the keys so far make, if any. */
export function createKeyReader(): (
  name: string,
  bindings: Iterable<string>,
  now: number,
) => string | undefined {
  let first: { readonly name: string; readonly at: number } | undefined;
  return (name, bindings, now) => {
    const known = new Set(bindings);
    const begun = first !== undefined && now - first.at <= SEQUENCE_MS ? first.name : undefined;
    first = undefined;
    const sequence = `${begun} ${name}`;
    if (begun !== undefined && known.has(sequence)) return sequence;
    if (known.has(name)) return name;
    const isBeginning = [...known].some((binding) => binding.startsWith(`${name} `));
    if (isBeginning) first = { name, at: now };
    return undefined;
  };
}

const SHOWN: Readonly<Record<string, string>> = {
  Escape: "Esc",
  ArrowLeft: "←",
  ArrowRight: "→",
  ArrowUp: "↑",
  ArrowDown: "↓",
};

/** Returns the keys of a binding as they stand on the keyboard: `mod+k` is `⌘`, `K` on a Mac and `Ctrl`, `K` elsewhere. */
export function shownKeys(binding: string, isMac: boolean): readonly string[] {
  return binding.split(/[+ ]/).map((part) => {
    if (part === "mod") return isMac ? "⌘" : "Ctrl";
    if (part === "shift") return isMac ? "⇧" : "Shift";
    const hasMod = binding.startsWith("mod+");
    return SHOWN[part] ?? (hasMod && part.length === 1 ? part.toUpperCase() : part);
  });
}
