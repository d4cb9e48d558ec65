import { CircleAlert } from "lucide-react";
import { ApiError } from "../../api/errors.ts";
import { Button } from "../buttons/button.tsx";
import { CopyRequestId } from "../buttons/copy-button.tsx";

interface ErrorCardProps {
  /** What failed: "Keys could not be loaded". */
  readonly what: string;
  readonly error: unknown;
  readonly onRetry?: () => void;
}

/** What failed, why, the request's id, and another try. */
export function ErrorCard({ what, error, onRetry }: ErrorCardProps) {
  const { message, code, requestId, retryAfterSeconds } = describe(error);
  return (
    <div role="alert" className="flex gap-3 rounded-lg border border-bad bg-bad-soft p-3">
      <CircleAlert size={18} className="mt-px shrink-0 text-bad" aria-hidden />
      <div className="grid min-w-0 flex-1 gap-1">
        <p className="font-medium text-bad">{what}</p>
        <p className="break-words">{message}</p>
        {retryAfterSeconds !== null && <p>It can be tried again in {retryAfterSeconds} s.</p>}
        {(code !== null || requestId !== null) && (
          <p className="flex flex-wrap items-center gap-x-2 text-sm text-muted">
            {code !== null && <code className="font-mono">{code}</code>}
            {requestId !== null && (
              <>
                <code className="break-all font-mono">{requestId}</code>
                <CopyRequestId id={requestId} />
              </>
            )}
          </p>
        )}
        {onRetry !== undefined && (
          <div className="pt-1">
            <Button onClick={onRetry}>Retry</Button>
          </div>
        )}
      </div>
    </div>
  );
}

function describe(error: unknown) {
  if (error instanceof ApiError) return error;
  const message = error instanceof Error ? error.message : "Something is wrong in this page.";
  return { message, code: null, requestId: null, retryAfterSeconds: null };
}
