import { useNavigate, useSearch } from "@tanstack/react-router";
import { changeState, readState, type UrlState } from "../../lib/url-state.ts";
import { useOpening } from "./use-opening.ts";

/**
 * The state of a view in its address, as texts. What has its default is left out of the address.
 *
 * @param defaults every name of the view with its default; the same object at each call.
 */
export function useUrlState<State extends UrlState>(
  defaults: State,
): [State, (change: Partial<State>) => void] {
  const search: UrlState = useSearch({ strict: false });
  const navigate = useNavigate();
  const change = (change: Partial<State>) =>
    void navigate({
      to: ".",
      search: (now: UrlState) => changeState(now, defaults, change),
      replace: true,
      state: true,
    });
  return [readState(search, defaults), change];
}

/**
 * Changes the state of a view where one of its names says what is open in it: Back closes that.
 *
 * @param name of what is open; its default is nothing.
 */
export function useOpenPart<State extends UrlState>(
  defaults: State,
  name: keyof State & string,
): (change: Partial<State>) => void {
  const now: UrlState = useSearch({ strict: false });
  const isShut = (state: Partial<State>) => state[name] === defaults[name];
  const { open, close } = useOpening(!isShut(readState(now, defaults)));
  return (change) => {
    const search = (before: UrlState) => changeState(before, defaults, change);
    (isShut(change) ? close : open)({ to: ".", search });
  };
}
