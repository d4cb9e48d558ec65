import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { useSession } from "../api/queries/session.ts";
import { createKeyReader, isSingleKey, isTextEntry, nameOfKey } from "../lib/keyboard.ts";
import { pages } from "../pages.ts";
import { readPreferences } from "../ui/preferences.ts";
import { type KeyBinding, readKeyBindings, useKeys } from "../ui/use-keys.ts";

/** What lies over the page and takes the keys; messages that pass, which are dialogs to readers, do not. */
const OVER = "[role=dialog]:not([data-toast]), [role=alertdialog], [role=menu], [role=listbox]";

/** Declares the keys that hold everywhere, and runs those that are declared. */
export function useShortcuts(open: (over: "palette" | "keys") => void): void {
  const role = useSession().data?.role ?? "user";
  const navigate = useNavigate();
  const goTo = pages
    .filter(({ level, shortcut }) => shortcut !== undefined && (level === "user" || level === role))
    .map(({ path, title, shortcut }): KeyBinding => {
      const run = () => void navigate({ to: `/${path}` });
      return { keys: `g ${shortcut}`, label: `Go to ${title}`, run };
    });
  useKeys([
    { keys: "mod+k", label: "Go to a page", run: () => open("palette") },
    { keys: "?", label: "Show all keys", run: () => open("keys") },
    ...goTo,
  ]);
  useEffect(() => {
    const read = createKeyReader();
    const listen = (event: KeyboardEvent) => {
      const name = nameOfKey(event);
      if (name === undefined || event.defaultPrevented) return;
      const bindings = readKeyBindings().filter(({ keys }) => isMeant(keys, targetOf(event)));
      const keys = read(
        name,
        bindings.map((binding) => binding.keys),
        event.timeStamp,
      );
      const found = bindings.find((binding) => binding.keys === keys);
      if (found === undefined) return;
      event.preventDefault();
      found.run(event);
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, []);
}

/** An editor in a shadow root shows its host as the target; what has the focus is within. */
function targetOf(event: KeyboardEvent): EventTarget | null {
  return event.composedPath()[0] ?? event.target;
}

/** Whether a key means its shortcut there: not while somebody types, and under a dialog nothing but ⌘K does. */
function isMeant(keys: string, target: EventTarget | null): boolean {
  const element = target instanceof HTMLElement ? target : null;
  if (document.querySelector(OVER) !== null) return false;
  if (!isSingleKey(keys)) return true;
  return readPreferences().singleKeys === "on" && !isTextEntry(element);
}
