import { useSyncExternalStore } from "react";
import type { Zone } from "../lib/time.ts";

/** What a person chose for this browser. */
export interface Preferences {
  readonly theme: "system" | "light" | "dark";
  readonly zone: Zone;
  /** Keys without ⌘ or Ctrl act. */
  readonly singleKeys: "on" | "off";
  /** Whether Enter sends a message, or ⌘ Enter. */
  readonly enter: "sends" | "breaks";
  /** The first steps on the overview. */
  readonly steps: "shown" | "hidden";
}

const DEFAULTS: Preferences = {
  theme: "system",
  zone: "local",
  singleKeys: "on",
  enter: "sends",
  steps: "shown",
};
const listeners = new Set<() => void>();
let current: Preferences = { ...DEFAULTS, ...readKept() };

/** Returns the preferences, following changes. */
export function usePreferences(): Preferences {
  return useSyncExternalStore(subscribe, readPreferences);
}

export function readPreferences(): Preferences {
  return current;
}

/** Changes preferences and keeps them in this browser, where it keeps anything. */
export function changePreferences(change: Partial<Preferences>): void {
  current = { ...current, ...change };
  for (const [name, value] of Object.entries(change)) keep(name, value);
  const { dataset } = document.documentElement;
  if (current.theme === "system") delete dataset["theme"];
  else dataset["theme"] = current.theme;
  for (const listener of listeners) listener();
}

function keep(name: string, value: string): void {
  try {
    localStorage.setItem(`console.${name}`, value);
  } catch {
    // It holds until the tab is closed.
  }
}

function readKept(): Partial<Preferences> {
  try {
    const names = Object.keys(DEFAULTS);
    const entries = names.map((name) => [name, localStorage.getItem(`console.${name}`)]);
    return Object.fromEntries(entries.filter(([, value]) => value !== null));
  } catch {
    return {};
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
