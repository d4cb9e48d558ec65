import { countOf } from "../../lib/count.ts";
import { Time, useNow } from "../../ui/text/time.tsx";

interface LicenseLineProps {
  readonly state: {
    readonly expires_at: string | null;
    readonly valid: boolean;
    readonly in_grace: boolean;
    readonly days_left: number | null;
  };
  readonly issuedAt: string | null;
}

/** The license's time as a line: when it was issued, where it is now, when it expires. */
export function LicenseLine({ state, issuedAt }: LicenseLineProps) {
  const now = useNow();
  const { expires_at: expiresAt, valid, in_grace: isInGrace, days_left: days } = state;
  if (expiresAt === null) return <p>It does not expire.</p>;
  const end = Date.parse(expiresAt);
  const share =
    issuedAt === null ? null : (now - Date.parse(issuedAt)) / (end - Date.parse(issuedAt));
  const isRunning = valid && !isInGrace;
  const colour = isRunning ? "bg-accent" : "bg-bad";
  return (
    <div className="grid gap-2">
      {share !== null && (
        <div aria-hidden className="h-1.5 overflow-hidden rounded-full bg-line">
          <div
            className={`h-full ${colour}`}
            style={{ width: `${Math.max(0, Math.min(1, share)) * 100}%` }}
          />
        </div>
      )}
      <dl className="flex flex-wrap justify-between gap-4">
        {issuedAt !== null && (
          <div>
            <dt className="text-sm text-muted">Issued</dt>
            <dd>
              <Time value={issuedAt} />
            </dd>
          </div>
        )}
        <div>
          <dt className="text-sm text-muted">{end < now ? "Expired" : "Expires"}</dt>
          <dd>
            <Time value={expiresAt} /> (
            {isRunning && days !== null ? (
              `${countOf(days, "day")} left`
            ) : (
              <Time value={expiresAt} isRelative />
            )}
            )
          </dd>
        </div>
      </dl>
    </div>
  );
}
