import { useEffect, useRef, useSyncExternalStore } from "react";

/** A shortcut while what declares it is on the screen. */
export interface KeyBinding {
  /** As `lib/keyboard.ts` names keys: `n`, `g k`, `mod+k`, `Escape`. */
  readonly keys: string;
  /** What it does, for the sheet of keys. */
  readonly label: string;
  readonly run: (event: KeyboardEvent) => void;
}

type Layer = { current: readonly KeyBinding[] };

const layers: Layer[] = [];
const listeners = new Set<() => void>();
let shown: readonly KeyBinding[] = [];

/** Declares shortcuts for as long as the component is there. Of two with the same keys the later one counts. */
export function useKeys(bindings: readonly KeyBinding[]): void {
  const names = bindings.map(({ keys, label }) => `${keys} ${label}`).join("\n");
  const layer: Layer = useRef<readonly KeyBinding[]>([]);
  useEffect(() => {
    layer.current = bindings;
  });
  useEffect(() => {
    if (names === "") return;
    layers.push(layer);
    publish();
    return () => {
      layers.splice(layers.indexOf(layer), 1);
      publish();
    };
  }, [names]);
}

/** Returns the shortcuts that count now, the latest first. */
export function readKeyBindings(): readonly KeyBinding[] {
  return layers.toReversed().flatMap((layer) => layer.current);
}

/** Returns what the sheet of keys lists, following changes. */
export function useKeyBindings(): readonly KeyBinding[] {
  return useSyncExternalStore(subscribe, () => shown);
}

function publish(): void {
  const seen = new Set<string>();
  shown = readKeyBindings().filter(({ keys }) => !seen.has(keys) && seen.add(keys));
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
