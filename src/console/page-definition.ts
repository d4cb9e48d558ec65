import type { LucideIcon } from "lucide-react";
import type { FunctionComponent } from "react";

/*
 * To add a page:
 *
 * 1. Make a folder `pages/<page>/` with `page.tsx`, which exports one component called `Page`, and whatever only this
 *    page uses. Pages import nothing of each other: what two of them need goes to `parts/` (with calls) or `ui/`
 *    (without). `pages/audit` is a plain list, `pages/keys` a list with a panel and forms, `pages/license` an upload.
 * 2. Add its line in `pages.ts`, or in `open-pages.ts` where it needs no login. From it come the route, the guard of its
 *    level, the navigation, the palette, the title, the shortcut `g` + letter, and the tests that run over every page.
 * 3. Calls go to `api/queries/<resource>.ts`: `useList` for lists that the server pages, `useQuery` and `useMutation`
 *    with `unwrap(api.GET(…))` for the rest. A mutation invalidates the queries that it changes.
 *
 * What a page is held to:
 *
 * - It begins with `PageHeader`, whose title is the page's, with `CallButton` among its buttons.
 * - Filters, sorting, ranges and tabs are in the address (`useUrlState`), and so is the open row: with `opensRows` the
 *   page also answers at `<path>/<id>`; `useOpenRow` reads and sets it, `useOpenPart` what is open within a view.
 * - Loading is `Skeleton`, nothing to show is `EmptyState`, failing is `ErrorCard`; rows that are there stay.
 *   `ListView` does all four for a list.
 * - Forms are `Form` with fields named as the request's fields are, so that the server's `param` marks them. What cannot
 *   be undone is a `ConfirmDialog` with `typeName`. An action that is not possible now has a `disabledReason`.
 * - Shortcuts come from `useKeys`, with a label: the sheet of keys lists them.
 * - Colours, sizes and type are those of `tokens.css`; status is `StatusDot`; figures are `Count`, `Bytes`, `Duration`;
 *   times are `Time`. Nothing needs hover. No style elements, no inline scripts, no `dangerouslySetInnerHTML`.
 */

export const GROUPS = ["Build", "Access", "Observe", "System"] as const;

export interface PageDefinition {
  /** Below `/console/`, such as `keys` or `workflows/$id/runs`; a `$name` is read with `useParams`. */
  readonly path: string;
  /** What the navigation, the palette and the tab's title call it. */
  readonly title: string;
  /** Who may see it: `open` pages stand alone and need no login. */
  readonly level: "open" | "user" | "admin";
  /** Where the bar lists it; `Top` is above all groups, null nowhere. */
  readonly group: (typeof GROUPS)[number] | "Top" | null;
  readonly icon: LucideIcon;
  /** The letter after `g` that leads there. */
  readonly shortcut?: string;
  /** The page answers at `<path>/<id>` as well, with that row open. */
  readonly opensRows?: boolean;
  readonly load: () => Promise<{ readonly Page: FunctionComponent }>;
}
