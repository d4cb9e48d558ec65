import { useSyncExternalStore } from "react";

/** Whether a media query holds, following changes. */
export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const list = window.matchMedia(query);
      list.addEventListener("change", listener);
      return () => list.removeEventListener("change", listener);
    },
    () => window.matchMedia(query).matches,
  );
}

/** Below it an open row's panel covers its table. */
export const COVERED = "(width < 48rem)";

/** Below it rows are cards and filters a sheet. */
export const SMALL = "(width < 40rem)";
