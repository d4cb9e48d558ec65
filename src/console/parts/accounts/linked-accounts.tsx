import { Time } from "../../ui/text/time.tsx";

interface LinkedAccountsProps {
  readonly identities: ReadonlyArray<{
    readonly issuer: string;
    readonly subject: string;
    readonly created_at: string;
  }>;
  /** What stands there instead of an empty list. */
  readonly none: string;
}

/** The accounts of sign-in providers that a user is linked to. */
export function LinkedAccounts({ identities, none }: LinkedAccountsProps) {
  if (identities.length === 0) return <p className="text-muted">{none}</p>;
  return (
    <ul className="grid gap-1">
      {identities.map(({ issuer, subject, created_at: at }) => (
        <li key={issuer} className="break-all">
          <code className="font-mono text-sm">{subject}</code>
          <span className="block text-sm text-muted">
            {issuer}, linked <Time value={at} />
          </span>
        </li>
      ))}
    </ul>
  );
}
