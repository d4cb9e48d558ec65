import type { WorkflowWebhook } from "../../../api/queries/workflows.ts";
import { IssuedDialog } from "../../../parts/credentials/issued-dialog.tsx";
import { CodeBlock } from "../../../ui/text/code-block.tsx";

/** A webhook with its credential, which is shown once. */
export interface IssuedWebhook extends WorkflowWebhook {
  readonly workflowId: string;
  readonly name: string;
}

interface WebhookDialogProps {
  readonly issued: IssuedWebhook | undefined;
  readonly onClose: () => void;
}

/** The address of a webhook and what opens it. */
export function WebhookDialog(props: WebhookDialogProps) {
  return (
    <IssuedDialog
      {...props}
      title={({ name }) => `The webhook of ${name}`}
      description="Its credential is shown this once."
      isWide
    >
      {(issued) => <Shown issued={issued} />}
    </IssuedDialog>
  );
}

function Shown({ issued }: { readonly issued: IssuedWebhook }) {
  const { path, secret } = issued;
  const { origin } = window.location;
  const call = [
    `curl -X POST '${origin}${path ?? ""}'`,
    ...(secret === undefined ? [] : ['-H "Authorization: Bearer $WEBHOOK_SECRET"']),
    "-H 'Content-Type: application/json'",
    `-d '[{"id": 1}]'`,
  ].join(" \\\n  ");
  return (
    <>
      {secret === undefined ? (
        <p>The address is the credential: whoever has it starts the workflow.</p>
      ) : (
        <CodeBlock label="The secret" text={secret} />
      )}
      <CodeBlock label="The address" text={`${origin}${path ?? ""}`} />
      <p className="text-muted">
        Send rows to it as JSON: an object is a row, a list is its elements.
        {secret !== undefined && " WEBHOOK_SECRET is the secret."}
      </p>
      <CodeBlock label="The call" text={call} />
    </>
  );
}
