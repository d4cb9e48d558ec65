import type { ErrorComponentProps } from "@tanstack/react-router";
import { Button } from "../ui/buttons/button.tsx";
import { ErrorCard } from "../ui/status/error-card.tsx";

/** What stands in the place of a page that broke, or whose files another build has taken away. */
export function PageError({ error, reset }: ErrorComponentProps) {
  const isGone = error instanceof Error && error.cause !== undefined;
  return (
    <div className="mx-auto grid max-w-2xl gap-4 p-4">
      <h1 className="text-xl">{isGone ? "This page cannot be loaded" : "This page broke"}</h1>
      {isGone ? (
        <p role="alert">
          The gateway was updated since this tab was opened, or it does not answer. Reload to get
          the current version.
        </p>
      ) : (
        <ErrorCard what="Something is wrong in the console itself" error={error} onRetry={reset} />
      )}
      <div>
        <Button look="primary" onClick={() => window.location.reload()}>
          Reload
        </Button>
      </div>
    </div>
  );
}
