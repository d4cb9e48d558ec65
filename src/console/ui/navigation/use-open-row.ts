import { useParams } from "@tanstack/react-router";
import type { UrlState } from "../../lib/url-state.ts";
import { useOpening } from "./use-opening.ts";

interface OpenRow {
  /** The id at the end of the address; undefined while no row is open. */
  readonly openId: string | undefined;
  readonly open: (id: string) => void;
  readonly close: () => void;
}

/**
 * The open row of a page with `opensRows`, which is the end of its address. Filters stay.
 *
 * @param own names of what an open row shows of itself, which is not for the next one.
 */
export function useOpenRow(path: string, own: readonly string[] = []): OpenRow {
  const { row } = useParams({ strict: false }) as { readonly row?: string };
  const { open, close } = useOpening(row !== undefined);
  const search = (now: UrlState) =>
    Object.fromEntries(Object.entries(now).filter(([name]) => !own.includes(name)));
  return {
    openId: row,
    open: (id) => open({ to: `/${path}/${encodeURIComponent(id)}`, search }),
    close: () => close({ to: `/${path}`, search }),
  };
}
