import type { IssuedApiKey } from "../../api/queries/api-keys.ts";
import { useModels } from "../../api/queries/models.ts";
import { findGuide, KEY_PLACEHOLDER } from "../../lib/clients/snippets.ts";
import { FirstCall } from "../../parts/credentials/first-call.tsx";
import { Button } from "../../ui/buttons/button.tsx";
import { Link } from "../../ui/navigation/link.tsx";
import { CodeBlock } from "../../ui/text/code-block.tsx";

interface CallStepProps {
  /** The key with its secret, where it was issued just now. */
  readonly issued: IssuedApiKey | undefined;
  readonly hasKey: boolean;
  readonly onIssue: () => void;
}

/** The first call: what to paste, and whether it has arrived. */
export function CallStep({ issued, hasKey, onIssue }: CallStepProps) {
  const model = useModels().data?.[0];
  const [snippet] = findGuide("curl").snippets({
    origin: window.location.origin,
    model: model?.id ?? "YOUR-MODEL",
    context: model?.context ?? null,
    output: model?.output ?? null,
    key: issued?.key ?? KEY_PLACEHOLDER,
  });
  return (
    <div className="grid min-w-0 gap-2 border-t border-line pt-3">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
        <h3 className="w-24 font-medium">First call</h3>
        <p className="min-w-0 flex-1 basis-60 text-muted">
          Paste this in a terminal. <Link to="/connect">Other clients</Link>
        </p>
        {hasKey && issued === undefined && <Button onClick={onIssue}>Issue another key</Button>}
      </div>
      {issued === undefined && (
        <p className="text-sm text-muted">
          Put a key where it says <code className="break-all font-mono">{KEY_PLACEHOLDER}</code>.
        </p>
      )}
      {issued !== undefined && (
        <p className="text-sm text-muted">
          The secret of {issued.name} is in it. It is shown this once: copy it before you leave.
        </p>
      )}
      <CodeBlock label="A first call" text={snippet?.text ?? ""} />
      <FirstCall watched={issued === undefined ? {} : { key_id: issued.id }} />
    </div>
  );
}
