import { Link, useNavigate } from "@tanstack/react-router";
import { ChevronsUpDown, LogOut, Search, UserRound } from "lucide-react";
import { reasonOf } from "../api/errors.ts";
import { useLogout, useSession } from "../api/queries/session.ts";
import { useStatus } from "../api/queries/status.ts";
import { countOf } from "../lib/count.ts";
import { GROUPS, type PageDefinition } from "../page-definition.ts";
import { pages } from "../pages.ts";
import { KeyHint } from "../ui/key-hint.tsx";
import { Menu } from "../ui/overlays/menu.tsx";
import { showToast } from "../ui/overlays/toast.tsx";
import { Tip } from "../ui/overlays/tooltip.tsx";
import { Badge, type Tone } from "../ui/status/badge.tsx";
import { StatusDot } from "../ui/status/status-dot.tsx";

interface NavigationProps {
  readonly onPalette: () => void;
  /** Called when a link was followed. */
  readonly onGone: () => void;
}

/** The bar: the pages by group, what asks for attention, and who is logged in. */
export function Navigation({ onPalette, onGone }: NavigationProps) {
  const role = useSession().data?.role ?? "user";
  const badges = useBadges();
  const shown = pages.filter(({ level }) => level === "user" || level === role);
  const groups = ["Top", ...GROUPS] as const;
  return (
    <header className="flex h-full flex-col">
      <div className="grid gap-3 p-3">
        <span className="px-2 pt-1 font-semibold">Inference Gateway</span>
        <button
          type="button"
          onClick={() => {
            onGone();
            onPalette();
          }}
          className="control flex items-center gap-2 text-muted"
        >
          <Search size={14} aria-hidden />
          <span className="flex-1 text-start">Go to…</span>
          <KeyHint keys="mod+k" />
        </button>
      </div>
      <nav aria-label="Pages" className="goes-on flex-1 overflow-y-auto px-3 pb-3">
        {groups.map((group) => {
          const own = shown.filter((page) => page.group === group);
          if (own.length === 0) return null;
          return (
            <div key={group} className="mb-4">
              {group !== "Top" && (
                <h2 className="px-2 pb-1 text-xs font-medium text-muted">{group}</h2>
              )}
              <ul>
                {own.map((page) => (
                  <li key={page.path}>
                    <Entry page={page} badge={badges.get(page.path)} onGone={onGone} />
                  </li>
                ))}
              </ul>
            </div>
          );
        })}
      </nav>
      <Readiness />
      <Person />
    </header>
  );
}

interface PageBadge {
  readonly tone: Tone;
  readonly text: string;
  readonly meaning: string;
}

interface EntryProps {
  readonly page: PageDefinition;
  readonly badge: PageBadge | undefined;
  readonly onGone: () => void;
}

function Entry({ page: { path, title, icon: Icon }, badge, onGone }: EntryProps) {
  return (
    <Link
      to={`/${path}`}
      onClick={onGone}
      activeOptions={{ includeSearch: false }}
      className="flex min-h-(--control) items-center gap-2 rounded-md px-2 outline-offset-[-2px] hover:bg-sunken"
      activeProps={{ className: "bg-accent-soft font-medium text-accent" }}
    >
      <Icon size={16} aria-hidden />
      <span className="flex-1 truncate">{title}</span>
      {badge !== undefined && (
        <Badge tone={badge.tone}>
          <span aria-hidden>{badge.text}</span>
          <span className="sr-only">{badge.meaning}</span>
        </Badge>
      )}
    </Link>
  );
}

/** What pages ask attention for, by their path. */
function useBadges(): ReadonlyMap<string, PageBadge> {
  const { data } = useStatus();
  const badges = new Map<string, PageBadge>();
  if (data === undefined) return badges;
  const dead = data.administration?.dead_events ?? 0;
  if (dead > 0) {
    const text = String(dead);
    badges.set("events", { tone: "bad", text, meaning: countOf(dead, "dead event") });
  }
  const failing = data.failing_workflows;
  if (failing > 0) {
    const text = String(failing);
    const meaning = `${countOf(failing, "workflow")} whose last run failed`;
    badges.set("workflows", { tone: "bad", text, meaning });
  }
  const waiting = data.administration?.tools_waiting ?? 0;
  if (waiting > 0) {
    const text = String(waiting);
    badges.set("tool-servers", {
      tone: "warn",
      text,
      meaning: `${countOf(waiting, "tool waits", "tools wait")} for approval`,
    });
  }
  const { warning } = data.license;
  if (warning !== null) {
    badges.set("license", { tone: "warn", text: "!", meaning: warning });
  }
  return badges;
}

function Readiness() {
  const { data, isError } = useStatus();
  if (data === undefined && !isError) return null;
  const hints = Object.values(data?.administration?.hints ?? {});
  const isReady = data?.ready === true && !isError;
  return (
    <div role="status" className="grid gap-1 border-t border-line px-5 py-2 text-sm text-muted">
      {isReady ? (
        <StatusDot tone="ok">Ready</StatusDot>
      ) : (
        <Tip text={hints.join(" ") || "The gateway does not answer."}>
          <button type="button" className="min-h-6 text-start">
            <StatusDot tone={isError ? "bad" : "warn"}>
              {isError ? "No answer" : "Not ready"}
            </StatusDot>
            <span className="sr-only">: {hints.join(" ")}</span>
          </button>
        </Tip>
      )}
      {data?.engine.simulated && <span>Answers come from the built-in simulator.</span>}
    </div>
  );
}

function Person() {
  const session = useSession();
  const logout = useLogout();
  const navigate = useNavigate();
  const leave = async () => {
    try {
      await logout.mutateAsync();
    } catch (thrown) {
      showToast(`You are not logged out: ${reasonOf(thrown)}`);
      return;
    }
    // A page of its own: nothing that was fetched or typed stays in memory.
    window.location.assign("/console/login");
  };
  return (
    <div className="border-t border-line p-3">
      <Menu
        trigger={
          <button
            type="button"
            className="flex min-h-(--control) w-full items-center gap-2 rounded-md px-2 hover:bg-sunken"
          >
            <UserRound size={16} aria-hidden />
            <span className="min-w-0 flex-1 truncate text-start">{session.data?.username}</span>
            <ChevronsUpDown size={14} className="text-muted" aria-hidden />
          </button>
        }
        items={[
          { label: "Your account", icon: UserRound, run: () => void navigate({ to: "/account" }) },
          { label: "Log out", icon: LogOut, run: () => void leave() },
        ]}
      />
    </div>
  );
}
