import type { ReactNode } from "react";
import { useSession } from "../api/queries/session.ts";
import { EmptyState } from "../ui/empty-state.tsx";
import { Link } from "../ui/link.tsx";
import { PageHeader } from "../ui/page-header.tsx";

interface PageGuardProps {
  readonly level: "user" | "admin";
  readonly title: string;
  readonly children: ReactNode;
}

/** Shows a page to those who may see it; the server refuses the others' calls in any case. */
export function PageGuard({ level, title, children }: PageGuardProps) {
  const session = useSession();
  if (level === "user" || session.data?.role === "admin") return children;
  return (
    <>
      <PageHeader title={title} />
      <EmptyState title="For administrators" action={<Link to="/">Go to the start</Link>}>
        Only administrators see this page. One of them can change your role under Users.
      </EmptyState>
    </>
  );
}
