import { useParams } from "@tanstack/react-router";
import type { UrlState } from "../../lib/url-state.ts";
import { useOpening } from "./use-opening.ts";

interface OpenRow {
  /** The id at the end of the address; undefined while no row is open. */
  readonly openId: string | undefined;
  readonly open: (id: string) => void;
  readonly close: () => void;
}

/** The open row of a page with `opensRows`, which is the end of its address. Filters stay. */
export function useOpenRow(path: string): OpenRow {
  const { row } = useParams({ strict: false }) as { readonly row?: string };
  const { open, close } = useOpening(row !== undefined);
  const search = (now: UrlState) => now;
  return {
    openId: row,
    open: (id) => open({ to: `/${path}/${encodeURIComponent(id)}`, search }),
    close: () => close({ to: `/${path}`, search }),
  };
}
