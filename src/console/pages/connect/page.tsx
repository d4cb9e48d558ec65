import { Plus } from "lucide-react";
import { useState } from "react";
import type { IssuedApiKey } from "../../api/queries/api-keys.ts";
import { useSession } from "../../api/queries/session.ts";
import { ClientSnippets } from "../../parts/credentials/client-snippets.tsx";
import { FirstCall } from "../../parts/credentials/first-call.tsx";
import { QuickKey } from "../../parts/credentials/quick-key.tsx";
import { Button } from "../../ui/buttons/button.tsx";
import { PageHeader } from "../../ui/navigation/page-header.tsx";
import { useUrlState } from "../../ui/navigation/use-url-state.ts";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { useKeys } from "../../ui/use-keys.ts";
import { KeyChoice } from "./key-choice.tsx";

const DEFAULTS = { client: "", model: "", key: "" };

/** How a client is connected: what to copy, and whether its first call has arrived. */
export function Page() {
  const [state, change] = useUrlState(DEFAULTS);
  const [isIssuing, setIssuing] = useState(false);
  // The secret is here and nowhere else, and gone with the page.
  const [issued, setIssued] = useState<IssuedApiKey>();
  const own = useSession().data?.id;
  const chosen = issued?.id === state.key ? issued : undefined;
  useKeys([{ keys: "n", label: "New key", run: () => setIssuing(true) }]);
  return (
    <>
      <PageHeader title="Connect">
        <Button look="primary" onClick={() => setIssuing(true)}>
          <Plus size={16} aria-hidden />
          New key
        </Button>
        <CallButton call={{ method: "GET", path: "/v1/models", credential: "key" }} />
      </PageHeader>
      <div className="grid max-w-6xl min-w-0 gap-6">
        <KeyChoice value={state.key} onChange={(key) => change({ key })} issued={chosen} />
        <ClientSnippets chosen={state} onChange={change} issued={chosen} />
        <section aria-label="The call" className="rounded-lg border border-line bg-surface p-3">
          {own !== undefined && (
            <FirstCall
              watched={state.key === "" ? { user_id: own } : { key_id: state.key }}
              what={chosen === undefined ? "a call" : "the first call"}
            />
          )}
        </section>
      </div>
      <QuickKey
        isOpen={isIssuing}
        onClose={() => setIssuing(false)}
        onIssued={(key) => {
          setIssued(key);
          change({ key: key.id });
        }}
      />
    </>
  );
}
