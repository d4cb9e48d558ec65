import { type ParsedLocation, useNavigate, useRouter } from "@tanstack/react-router";
import type { UrlState } from "../../lib/url-state.ts";

declare module "@tanstack/react-router" {
  interface HistoryState {
    /** The addresses from which what is open was opened, one within the other. */
    readonly openedFrom?: readonly string[];
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

/** True until a step back has happened, because a second close in that time must not go back twice. */
let isGoingBack = false;

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
      const { location } = router.state;
      const { openedFrom = [] } = location.state;
      const state = isOpen || { openedFrom: [...openedFrom, addressOf(location)] };
      void navigate({ ...target, replace: isOpen, state });
    },
    close(target) {
      const { openedFrom = [] } = router.state.location.state;
      const place = openedFrom.lastIndexOf(addressOf(router.buildLocation(target)));
      // An open row that was linked to has no step to go back to; nor has one whose list was filtered meanwhile.
      if (place < 0) return void navigate({ ...target, replace: true });
      if (isGoingBack) return;
      isGoingBack = true;
      window.addEventListener("popstate", () => (isGoingBack = false), { once: true });
      router.history.go(place - openedFrom.length);
    },
  };
}

function addressOf({ pathname, searchStr }: ParsedLocation): string {
  return `${pathname}${searchStr}`;
}
