import { useState } from "react";
import { useRotateWebhook, type Workflow } from "../../../api/queries/workflows.ts";
import { formatExact } from "../../../lib/count.ts";
import type { JsonValue } from "../../../lib/json/json-schema.ts";
import { describeTrigger } from "../../../lib/trigger-words.ts";
import { Button } from "../../../ui/buttons/button.tsx";
import { ConfirmDialog } from "../../../ui/overlays/confirm-dialog.tsx";
import { CodeBlock } from "../../../ui/text/code-block.tsx";
import { PropertyList } from "../../../ui/text/property-list.tsx";
import { Time } from "../../../ui/text/time.tsx";
import { Secrets } from "./secrets.tsx";
import type { IssuedWebhook } from "./webhook-dialog.tsx";

interface TriggersViewProps {
  readonly workflow: Workflow;
  readonly readOnlyReason: string | undefined;
  readonly onIssued: (issued: IssuedWebhook) => void;
}

/** Why each trigger was discarded, and what to do about it. */
const REASONS: Readonly<Record<string, string>> = {
  queue_full: "The queue was full: raise PIPELINE_MAX_QUEUED_RUNS, or make its runs shorter.",
  overlap: "A run of the same schedule was still waiting.",
  loop: "The workflow was already in the chain that led to it.",
  license: "There was no valid license.",
  owner: "Its owner is disabled or deleted.",
};

/** What starts a saved workflow: times, webhook, what was discarded; and the secrets that its steps name. */
export function TriggersView({ workflow, readOnlyReason, onIssued }: TriggersViewProps) {
  const { schedules, triggers, discarded } = workflow;
  const reasons = Object.entries(discarded);
  return (
    <div className="grid max-w-3xl gap-8">
      <section className="grid gap-2" aria-labelledby="next-times">
        <h2 id="next-times" className="text-lg">
          Next times
        </h2>
        {schedules.length === 0 && <p className="text-muted">No schedule starts it.</p>}
        {schedules.map(({ trigger, next }) => (
          <div key={trigger} className="grid gap-1">
            <h3 className="font-medium">{describeTrigger(triggers[trigger] as JsonValue)}</h3>
            {next.length === 0 && <p className="text-muted">None: the workflow is off.</p>}
            <ol className="grid gap-1">
              {next.map((time) => (
                <li key={time}>
                  <Time value={time} hasSeconds />{" "}
                  <span className="text-muted">
                    <Time value={time} isRelative />
                  </span>
                </li>
              ))}
            </ol>
          </div>
        ))}
      </section>
      <Webhook workflow={workflow} readOnlyReason={readOnlyReason} onIssued={onIssued} />
      <section className="grid gap-2" aria-labelledby="discarded">
        <h2 id="discarded" className="text-lg">
          Discarded triggers
        </h2>
        {reasons.length === 0 ? (
          <p className="text-muted">None: every trigger started a run.</p>
        ) : (
          <>
            <PropertyList
              properties={reasons.map(([reason, count]) => [
                reason,
                <span key={reason}>
                  {formatExact(Number(count))} · {REASONS[reason] ?? "It is not known why."}
                </span>,
              ])}
            />
            <p className="text-muted">
              The last one <Time value={workflow.discarded_at} isRelative />
            </p>
          </>
        )}
      </section>
      <Secrets />
    </div>
  );
}

function Webhook({ workflow, readOnlyReason, onIssued }: TriggersViewProps) {
  const [isAsking, setAsking] = useState(false);
  const rotate = useRotateWebhook(workflow.id);
  const webhook = workflow.webhook;
  if (webhook === null) {
    return (
      <section className="grid gap-2" aria-labelledby="webhook">
        <h2 id="webhook" className="text-lg">
          Webhook
        </h2>
        <p className="text-muted">It has none. Add the trigger webhook, and save.</p>
      </section>
    );
  }
  const isUrl = webhook.auth === "url";
  return (
    <section className="grid gap-2" aria-labelledby="webhook">
      <h2 id="webhook" className="text-lg">
        Webhook
      </h2>
      {isUrl ? (
        <p className="text-muted">
          Its address is the credential: it was shown once. A new one makes the old one invalid.
        </p>
      ) : (
        <>
          <CodeBlock
            label="The address of the webhook"
            text={`${window.location.origin}${webhook.path ?? ""}`}
          />
          <p className="text-muted">
            It is opened by its secret whk_…, which was shown once, as Bearer, in x-webhook-secret
            or as a signature, and by the API key or session of somebody who may start it.
          </p>
        </>
      )}
      <div>
        <Button disabledReason={readOnlyReason} onClick={() => setAsking(true)}>
          {isUrl ? "Replace address" : "Replace secret"}
        </Button>
      </div>
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={`Replace the ${isUrl ? "address" : "secret"} of ${workflow.name}?`}
        action={isUrl ? "Replace address" : "Replace secret"}
        onConfirm={async () => {
          const made = await rotate.mutateAsync();
          if (made !== null) onIssued({ ...made, workflowId: workflow.id, name: workflow.name });
        }}
      >
        Whoever uses the old one is refused at once. The new one is shown this once.
      </ConfirmDialog>
    </section>
  );
}
