import { Link } from "../ui/link.tsx";

interface RequestLinkProps {
  /** An `x-request-id`. */
  readonly id: string;
}

/** Leads to a single request. */
export function RequestLink({ id }: RequestLinkProps) {
  return (
    <Link to={`/requests/${encodeURIComponent(id)}`}>
      <code className="font-mono text-sm break-all">{id}</code>
    </Link>
  );
}
