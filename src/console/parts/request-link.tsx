import type { ReactNode } from "react";
import { Link } from "../ui/navigation/link.tsx";

interface RequestLinkProps {
  /** An `x-request-id`. */
  readonly id: string;
  /** What is read; the id itself unless given. */
  readonly children?: ReactNode;
}

/** Leads to a single request. */
export function RequestLink({ id, children }: RequestLinkProps) {
  return (
    <Link to={`/requests/${encodeURIComponent(id)}`}>
      {children ?? <code className="font-mono text-sm break-all">{id}</code>}
    </Link>
  );
}
