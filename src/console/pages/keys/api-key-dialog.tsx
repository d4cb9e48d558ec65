import { Suspense } from "react";
import type { IssuedApiKey } from "../../api/queries/api-keys.ts";
import { IssuedDialog } from "../../parts/credentials/issued-dialog.tsx";
import { lazyPart } from "../../ui/status/lazy-part.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import { CodeBlock } from "../../ui/text/code-block.tsx";

/** Not needed for the list of keys. Where it is gone from the server, the secret stays on the screen. */
const KeyInUse = lazyPart(async () => (await import("./key-in-use.tsx")).KeyInUse, NotLoaded);

interface ApiKeyDialogProps {
  readonly issued: IssuedApiKey | undefined;
  readonly onClose: () => void;
}

/** A key's secret, and how clients use it. */
export function ApiKeyDialog(props: ApiKeyDialogProps) {
  return (
    <IssuedDialog
      {...props}
      title={({ name }) => `The secret of ${name}`}
      description="It is shown this once. Who has it can use the gateway as this key."
      isWide
    >
      {(issued) => (
        <>
          <CodeBlock label="The key" text={issued.key} />
          <Suspense fallback={<Skeleton shape="block" label="The clients are loading" />}>
            <KeyInUse issued={issued} />
          </Suspense>
        </>
      )}
    </IssuedDialog>
  );
}

function NotLoaded() {
  return (
    <p className="text-muted">
      The texts for clients could not be loaded. Copy the key, then reload the page: Connect has
      them too.
    </p>
  );
}
