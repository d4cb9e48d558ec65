import { useNavigate, useSearch } from "@tanstack/react-router";
import { changeState, readState, type UrlState } from "../lib/url-state.ts";

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
    });
  return [readState(search, defaults), change];
}
