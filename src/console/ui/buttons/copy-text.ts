/** Copies a text; returns whether the browser did. */
export async function copyText(text: string): Promise<boolean> {
  try {
    // Pages without TLS have no clipboard at all.
    const clipboard = navigator.clipboard as Clipboard | undefined;
    if (clipboard === undefined) return copyBySelection(text);
    await clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** The older way, which works in most browsers without TLS. */
function copyBySelection(text: string): boolean {
  const focused = document.activeElement;
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "sr-only";
  // Within the dialog that is open, else its focus trap takes the selection away.
  const host = focused?.closest("[role=dialog], [role=alertdialog]") ?? document.body;
  host.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return isCopied;
}
