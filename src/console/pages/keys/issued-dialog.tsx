import { lazy, Suspense, useState } from "react";
import type { IssuedApiKey } from "../../api/queries/api-keys.ts";
import type { ChosenClient } from "../../parts/client-snippets.tsx";
import { FirstCall } from "../../parts/first-call.tsx";
import { Button } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/code-block.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";

/** Not needed for the list of keys. */
const ClientSnippets = lazy(async () => ({
  default: (await import("../../parts/client-snippets.tsx")).ClientSnippets,
}));

interface IssuedDialogProps {
  readonly issued: IssuedApiKey | undefined;
  readonly onClose: () => void;
}

/** A key's secret, which is shown this once, and how clients use it: only its own button closes the dialog. */
export function IssuedDialog({ issued, onClose }: IssuedDialogProps) {
  return (
    <Dialog
      isOpen={issued !== undefined}
      onClose={onClose}
      title={`The secret of ${issued?.name ?? ""}`}
      description="It is shown this once. Who has it can use the gateway as this key."
      isWide
      isFirm
    >
      {issued !== undefined && <Issued issued={issued} onClose={onClose} />}
    </Dialog>
  );
}

function Issued({
  issued,
  onClose,
}: {
  readonly issued: IssuedApiKey;
  readonly onClose: () => void;
}) {
  const [chosen, setChosen] = useState<ChosenClient>({ client: "", model: "" });
  return (
    <>
      <CodeBlock label="The key" text={issued.key} />
      <Suspense fallback={<Skeleton shape="block" label="The clients are loading" />}>
        <ClientSnippets
          chosen={chosen}
          onChange={(change) => setChosen({ ...chosen, ...change })}
          secret={issued.key}
        />
      </Suspense>
      <div className="flex flex-wrap items-center justify-between gap-3">
        <div className="min-w-0 flex-1">
          <FirstCall watched={{ key_id: issued.id }} />
        </div>
        <Button look="primary" onClick={onClose}>
          I have copied it
        </Button>
      </div>
    </>
  );
}
