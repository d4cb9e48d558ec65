import type { ReactNode } from "react";
import { useSession } from "../api/queries/session.ts";
import type { PageDefinition } from "../page-definition.ts";
import { Link } from "../ui/navigation/link.tsx";
import { PageHeader } from "../ui/navigation/page-header.tsx";
import { EmptyState } from "../ui/status/empty-state.tsx";

interface PageGuardProps {
  readonly page: PageDefinition | undefined;
  readonly children: ReactNode;
}

/** Shows a page to those who may see it; the server refuses the others' calls in any case. */
export function PageGuard({ page, children }: PageGuardProps) {
  const session = useSession();
  if (page?.level !== "admin" || session.data?.role === "admin") return children;
  return (
    <>
      <PageHeader title={page.title} />
      <EmptyState title="For administrators" action={<Link to="/">Go to the start</Link>}>
        Only administrators see this page. One of them can change your role under Users.
      </EmptyState>
    </>
  );
}
