import { Navigate, Outlet } from "@tanstack/react-router";
import { Menu as MenuIcon } from "lucide-react";
import { memo, useState } from "react";
import { ApiError } from "../api/errors.ts";
import { useSession } from "../api/queries/session.ts";
import { IconButton } from "../ui/buttons/icon-button.tsx";
import { OnceOpen } from "../ui/overlays/once-open.tsx";
import { ErrorCard } from "../ui/status/error-card.tsx";
import { lazyPart } from "../ui/status/lazy-part.tsx";
import { Skeleton } from "../ui/status/skeleton.tsx";
import { useMedia } from "../ui/use-media.ts";
import { Drawer } from "./drawer.tsx";
import { KeySheet } from "./key-sheet.tsx";
import { LoginOverPage } from "./login-over-page.tsx";
import { Navigation } from "./navigation.tsx";
import { Notices } from "./notices.tsx";
import { PageGuard } from "./page-guard.tsx";
import { useCurrentPage } from "./route-data.ts";
import { useShortcuts } from "./use-shortcuts.ts";

// Its search is large, and the first page does not need it.
const Palette = lazyPart(async () => (await import("./palette.tsx")).Palette);

const DRAWER = "(width < 56.25rem)";

/** The bar, what lies over the page, and the page; only for who is logged in. */
export function Shell() {
  const session = useSession();
  if (session.data?.must_change_password) return <Navigate to="/password" replace />;
  if (session.data !== undefined) return <Frame />;
  if (session.error instanceof ApiError && session.error.status === 401) return <ToLogin />;
  return (
    <div className="mx-auto max-w-2xl p-8">
      {session.error === null ? (
        <Skeleton shape="block" label="The console is loading" />
      ) : (
        <ErrorCard
          what="The console cannot reach the gateway"
          error={session.error}
          onRetry={() => void session.refetch()}
        />
      )}
    </div>
  );
}

/** Keeps the address that was asked for; rendered once, because each rendering would lead there again. */
const ToLogin = memo(() => {
  const [next] = useState(() => `${window.location.pathname}${window.location.search}`);
  const isStart = next === "/console/" || next === "/console";
  return <Navigate to="/login" search={isStart ? {} : { next }} replace />;
});

function Frame() {
  const isNarrow = useMedia(DRAWER);
  const [isDrawerOpen, setDrawerOpen] = useState(false);
  const [over, setOver] = useState<"palette" | "keys">();
  const page = useCurrentPage();
  useShortcuts(setOver);
  const navigation = (
    <Navigation onPalette={() => setOver("palette")} onGone={() => setDrawerOpen(false)} />
  );
  return (
    <div className="flex min-h-dvh">
      <a
        href="#page"
        className="sr-only z-50 rounded-md bg-surface p-2 focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        Skip to the page
      </a>
      {!isNarrow && (
        <div className="sticky top-0 h-dvh w-[14rem] shrink-0 border-e border-line bg-surface">
          {navigation}
        </div>
      )}
      <div className="flex min-w-0 flex-1 flex-col">
        <Notices />
        {isNarrow && (
          <header className="sticky top-0 z-20 flex items-center gap-2 border-b border-line bg-surface px-2 py-1">
            <IconButton
              icon={MenuIcon}
              label="Open the navigation"
              onClick={() => setDrawerOpen(true)}
            />
            <span className="font-medium">Inference Gateway</span>
          </header>
        )}
        <main
          id="page"
          tabIndex={-1}
          className="flex min-w-0 flex-1 flex-col gap-4 p-4 outline-none md:p-6"
        >
          <PageGuard page={page}>
            <Outlet />
          </PageGuard>
        </main>
      </div>
      {isNarrow && (
        <Drawer isOpen={isDrawerOpen} onClose={() => setDrawerOpen(false)}>
          {navigation}
        </Drawer>
      )}
      <OnceOpen isOpen={over === "palette"}>
        <Palette isOpen={over === "palette"} onClose={() => setOver(undefined)} />
      </OnceOpen>
      <KeySheet isOpen={over === "keys"} onClose={() => setOver(undefined)} />
      <LoginOverPage />
    </div>
  );
}
