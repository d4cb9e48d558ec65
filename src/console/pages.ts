import {
  ArrowRightLeft,
  Bot,
  Boxes,
  Cable,
  ChartColumnStacked,
  Database,
  DatabaseZap,
  FileClock,
  Fingerprint,
  KeyRound,
  LayoutDashboard,
  Library,
  LogIn,
  type LucideIcon,
  MessageSquare,
  Send,
  Server,
  ShieldCheck,
  Table2,
  UserRound,
  Users,
  Workflow,
  Wrench,
} from "lucide-react";
import type { FunctionComponent } from "react";

/*
 * To add a page:
 *
 * 1. Make a folder `pages/<page>/` with `page.tsx`, which exports one component called `Page`, and whatever only this
 *    page uses. Pages import nothing of each other: what two of them need goes to `parts/` (with calls) or `ui/`
 *    (without). `pages/audit` is a plain list, `pages/keys` a list with a panel and forms, `pages/license` an upload.
 * 2. Add its line below. From it come the route, the guard of its level, the navigation, the palette, the title, the
 *    shortcut `g` + letter, and the tests that run over every page.
 * 3. Calls go to `api/queries/<resource>.ts`: `useList` for lists that the server pages, `useQuery` and `useMutation`
 *    with `unwrap(api.GET(…))` for the rest. A mutation invalidates the queries that it changes.
 *
 * What a page is held to:
 *
 * - It begins with `PageHeader`, whose title is the page's, with `CallButton` among its buttons.
 * - Filters, sorting, ranges and tabs are in the address (`useUrlState`), and so is the open row: with `opensRows` the
 *   page also answers at `<path>/<id>`; `useOpenRow` reads and sets it.
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

export const pages: readonly PageDefinition[] = [
  {
    path: "login",
    title: "Sign in",
    level: "open",
    group: null,
    icon: LogIn,
    load: () => import("./pages/login/page.tsx"),
  },
  {
    path: "password",
    title: "Change your password",
    level: "open",
    group: null,
    icon: Fingerprint,
    load: () => import("./pages/password/page.tsx"),
  },
  {
    path: "chat",
    title: "Chat",
    level: "user",
    group: "Top",
    icon: MessageSquare,
    shortcut: "c",
    opensRows: true,
    load: () => import("./pages/chat/page.tsx"),
  },
  {
    path: "assistants",
    title: "Assistants",
    level: "user",
    group: "Build",
    icon: Bot,
    opensRows: true,
    load: () => import("./pages/assistants/page.tsx"),
  },
  {
    path: "knowledge",
    title: "Knowledge",
    level: "user",
    group: "Build",
    icon: Library,
    opensRows: true,
    load: () => import("./pages/knowledge/page.tsx"),
  },
  {
    path: "tools",
    title: "Tools",
    level: "admin",
    group: "Build",
    icon: Wrench,
    opensRows: true,
    load: () => import("./pages/tools/page.tsx"),
  },
  {
    path: "tool-servers",
    title: "Tool servers",
    level: "admin",
    group: "Build",
    icon: Server,
    opensRows: true,
    load: () => import("./pages/tool-servers/page.tsx"),
  },
  {
    path: "connections",
    title: "Connections",
    level: "admin",
    group: "Build",
    icon: Database,
    opensRows: true,
    load: () => import("./pages/connections/page.tsx"),
  },
  {
    path: "workflows",
    title: "Workflows",
    level: "user",
    group: "Build",
    icon: Workflow,
    shortcut: "w",
    opensRows: true,
    load: () => import("./pages/workflows/page.tsx"),
  },
  {
    path: "workflows/$id/runs",
    title: "Runs",
    level: "user",
    group: null,
    icon: Workflow,
    load: () => import("./pages/workflow-runs/page.tsx"),
  },
  {
    path: "runs/$runId",
    title: "Run",
    level: "user",
    group: null,
    icon: Workflow,
    load: () => import("./pages/runs/page.tsx"),
  },
  {
    path: "datasets",
    title: "Datasets",
    level: "user",
    group: "Build",
    icon: Table2,
    shortcut: "d",
    opensRows: true,
    load: () => import("./pages/datasets/page.tsx"),
  },
  {
    path: "keys",
    title: "API keys",
    level: "user",
    group: "Access",
    icon: KeyRound,
    shortcut: "k",
    opensRows: true,
    load: () => import("./pages/keys/page.tsx"),
  },
  {
    path: "connect",
    title: "Connect",
    level: "user",
    group: "Access",
    icon: Cable,
    load: () => import("./pages/connect/page.tsx"),
  },
  {
    path: "bi-keys",
    title: "BI keys",
    level: "admin",
    group: "Access",
    icon: DatabaseZap,
    opensRows: true,
    load: () => import("./pages/bi-keys/page.tsx"),
  },
  {
    path: "service-tokens",
    title: "Service tokens",
    level: "admin",
    group: "Access",
    icon: Bot,
    opensRows: true,
    load: () => import("./pages/service-tokens/page.tsx"),
  },
  {
    path: "users",
    title: "Users",
    level: "admin",
    group: "Access",
    icon: Users,
    opensRows: true,
    load: () => import("./pages/users/page.tsx"),
  },
  {
    path: "overview",
    title: "Overview",
    level: "admin",
    group: "Observe",
    icon: LayoutDashboard,
    shortcut: "o",
    load: () => import("./pages/overview/page.tsx"),
  },
  {
    path: "models",
    title: "Models",
    level: "user",
    group: "Observe",
    icon: Boxes,
    shortcut: "m",
    opensRows: true,
    load: () => import("./pages/models/page.tsx"),
  },
  {
    path: "usage",
    title: "Usage",
    level: "user",
    group: "Observe",
    icon: ChartColumnStacked,
    shortcut: "u",
    load: () => import("./pages/usage/page.tsx"),
  },
  {
    path: "requests",
    title: "Requests",
    level: "user",
    group: "Observe",
    icon: ArrowRightLeft,
    shortcut: "r",
    opensRows: true,
    load: () => import("./pages/requests/page.tsx"),
  },
  {
    path: "events",
    title: "Events",
    level: "admin",
    group: "Observe",
    icon: Send,
    opensRows: true,
    load: () => import("./pages/events/page.tsx"),
  },
  {
    path: "audit",
    title: "Audit log",
    level: "admin",
    group: "Observe",
    icon: FileClock,
    load: () => import("./pages/audit/page.tsx"),
  },
  {
    path: "license",
    title: "License",
    level: "admin",
    group: "System",
    icon: ShieldCheck,
    load: () => import("./pages/license/page.tsx"),
  },
  {
    path: "system",
    title: "System",
    level: "admin",
    group: "System",
    icon: Server,
    load: () => import("./pages/system/page.tsx"),
  },
  {
    path: "account",
    title: "Your account",
    level: "user",
    group: null,
    icon: UserRound,
    load: () => import("./pages/account/page.tsx"),
  },
];
