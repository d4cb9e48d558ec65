import { useNavigate, useParams } from "@tanstack/react-router";
import type { UrlState } from "../lib/url-state.ts";

interface OpenRow {
  /** The id at the end of the address; undefined while no row is open. */
  readonly openId: string | undefined;
  readonly open: (id: string) => void;
  readonly close: () => void;
}

/** The open row of a page with `opensRows`, which is the end of its address. Filters stay. */
export function useOpenRow(path: string): OpenRow {
  const { row } = useParams({ strict: false }) as { readonly row?: string };
  const navigate = useNavigate();
  const go = (to: string) => void navigate({ to, search: (now: UrlState) => now });
  return {
    openId: row,
    open: (id) => go(`/${path}/${encodeURIComponent(id)}`),
    close: () => go(`/${path}`),
  };
}
