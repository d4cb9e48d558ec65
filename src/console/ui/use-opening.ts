import { type ParsedLocation, useNavigate, useRouter } from "@tanstack/react-router";
import type { UrlState } from "../lib/url-state.ts";

declare module "@tanstack/react-router" {
  interface HistoryState {
    /** The address from which what is open was opened. */
    readonly openedFrom?: string;
  }
}

interface Target {
  readonly to: string;
  readonly search: (now: UrlState) => UrlState;
}

interface Opening {
  readonly open: (target: Target) => void;
  /** @param target the view without what is open. */
  readonly close: (target: Target) => void;
}

/**
 * Opens something within a view, such as a row's panel, as one step of the browser's history: Back closes it, whatever
 * was opened in its place meanwhile, and so Back once more leaves the view.
 *
 * @param isOpen whether something is open: the next one takes its place.
 */
export function useOpening(isOpen: boolean): Opening {
  const navigate = useNavigate();
  const router = useRouter();
  return {
    open(target) {
      const state = isOpen || { openedFrom: addressOf(router.state.location) };
      void navigate({ ...target, replace: isOpen, state });
    },
    close(target) {
      const { state } = router.state.location;
      // An open row that was linked to has no step to go back to; nor has one whose list was filtered meanwhile.
      if (state.openedFrom === addressOf(router.buildLocation(target))) router.history.back();
      else void navigate({ ...target, replace: true });
    },
  };
}

function addressOf({ pathname, searchStr }: ParsedLocation): string {
  return `${pathname}${searchStr}`;
}
