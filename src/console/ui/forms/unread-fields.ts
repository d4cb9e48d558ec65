import { createContext } from "react";

/**
 * Called with 1 when the text of a field cannot be read, and with -1 when it can or the field is gone: what is shown
 * differs then from what would be sent.
 */
export const UnreadFields = createContext<(change: 1 | -1) => void>(() => undefined);

/** Goes to the first field whose text cannot be read; it says so itself. Returns whether there is one. */
export function focusUnread(within: ParentNode | null): boolean {
  const unread = within?.querySelector<HTMLElement>("[data-unparsed] textarea");
  unread?.focus();
  return unread != null;
}
