import { type GatewayEvent, useEvent, useRedriveEvent } from "../../api/queries/events.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { SidePanel } from "../../ui/overlays/side-panel.tsx";
import { showToast } from "../../ui/overlays/toast.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import { StatusDot } from "../../ui/status/status-dot.tsx";
import { CodeBlock } from "../../ui/text/code-block.tsx";
import { PropertyList } from "../../ui/text/property-list.tsx";
import { Time } from "../../ui/text/time.tsx";
import { labelOfSink, STATES } from "./event-words.ts";

interface EventPanelProps {
  readonly id: string;
  readonly onClose: () => void;
}

/** One event: how its delivery goes, what it says, and another try. */
export function EventPanel({ id, onClose }: EventPanelProps) {
  const { data: event, error, refetch } = useEvent(id);
  return (
    <SidePanel title={event?.kind ?? "Event"} of={id} onClose={onClose}>
      {error !== null && (
        <ErrorCard
          what="The event could not be loaded"
          error={error}
          onRetry={() => void refetch()}
        />
      )}
      {event === undefined && error === null && (
        <Skeleton shape="lines" label="The event is loading" />
      )}
      {event !== undefined && (
        <>
          <Actions event={event} />
          <Properties event={event} />
          <section className="grid gap-2" aria-labelledby="event-body">
            <h3 id="event-body" className="font-medium">
              What it says
            </h3>
            <CodeBlock label="The event's body" text={JSON.stringify(event.body, null, 2)} />
          </section>
        </>
      )}
    </SidePanel>
  );
}

function Actions({ event }: { readonly event: GatewayEvent }) {
  const redrive = useRedriveEvent();
  const send = () => {
    redrive.mutate(event.id, { onSuccess: () => showToast("The event is sent again") });
  };
  return (
    <div className="flex flex-wrap gap-2">
      <Button
        look={event.state === "dead" ? "primary" : "plain"}
        isBusy={redrive.isPending}
        disabledReason={
          event.state === "delivered" ? "It was delivered: there is nothing to send." : undefined
        }
        onClick={send}
      >
        {event.state === "pending" ? "Send now" : "Send again"}
      </Button>
      <CallButton
        call={{
          method: "GET",
          path: `/api/admin/events/${event.id}`,
          credential: "token",
          scope: "events:read",
        }}
      />
      {redrive.error !== null && (
        <ErrorCard what="The event could not be sent again" error={redrive.error} onRetry={send} />
      )}
    </div>
  );
}

function Properties({ event }: { readonly event: GatewayEvent }) {
  const { tone, label } = STATES[event.state];
  const at = (time: string | null) =>
    time === null ? undefined : <Time value={time} hasSeconds />;
  return (
    <PropertyList
      properties={[
        [
          "State",
          <StatusDot key="state" tone={tone}>
            {label}
          </StatusDot>,
        ],
        ["Sink", labelOfSink(event.sink)],
        ["Tries", event.attempts],
        ["Stored", at(event.created_at)],
        ["Next try", at(event.next_attempt_at)],
        ["Delivered", at(event.delivered_at)],
        ["Given up", at(event.dead_at)],
        ["Last error", event.last_error ?? undefined],
        [
          "Id",
          <code key="id" className="font-mono text-sm break-all">
            {event.id}
          </code>,
        ],
      ]}
    />
  );
}
