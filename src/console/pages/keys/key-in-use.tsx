import { useState } from "react";
import type { IssuedApiKey } from "../../api/queries/api-keys.ts";
import { type ChosenClient, ClientSnippets } from "../../parts/credentials/client-snippets.tsx";
import { FirstCall } from "../../parts/credentials/first-call.tsx";

/** The texts that use a new key, and whether its first call has arrived. */
export function KeyInUse({ issued }: { readonly issued: IssuedApiKey }) {
  const [chosen, setChosen] = useState<ChosenClient>({ client: "", model: "" });
  return (
    <>
      <ClientSnippets
        chosen={chosen}
        onChange={(change) => setChosen({ ...chosen, ...change })}
        issued={issued}
      />
      <FirstCall watched={{ key_id: issued.id }} />
    </>
  );
}
