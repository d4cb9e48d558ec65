import { Navigate } from "@tanstack/react-router";
import { useSession } from "../api/queries/session.ts";
import { pages } from "../pages.ts";
import { Link } from "../ui/navigation/link.tsx";
import { PageHeader } from "../ui/navigation/page-header.tsx";
import { EmptyState } from "../ui/status/empty-state.tsx";
import { PageTitle } from "./page-title.tsx";

const FIRST = { admin: ["overview", "keys"], user: ["chat", "keys"] } as const;

/** Where people land. */
export function Home() {
  const role = useSession().data?.role ?? "user";
  const path = FIRST[role].find((each) => pages.some((page) => page.path === each)) ?? "keys";
  return <Navigate to={`/${path}`} replace />;
}

export function NotFound() {
  return (
    <>
      <PageTitle title="No such page" />
      <PageHeader title="No such page" />
      <EmptyState title="Nothing is at this address" action={<Link to="/">Go to the start</Link>}>
        The link that led here is wrong, or what it named is gone.
      </EmptyState>
    </>
  );
}
