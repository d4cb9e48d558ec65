import { useState } from "react";
import { type EventFilters, useRedriveDead } from "../../api/queries/events.ts";
import { useStatus } from "../../api/queries/status.ts";
import { countOf } from "../../lib/count.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { ConfirmDialog } from "../../ui/overlays/confirm-dialog.tsx";
import { showToast } from "../../ui/overlays/toast.tsx";
import { labelOfSink, SINK_NAMES } from "./event-words.ts";

/** Sends all dead events of the sink and kind that are shown again, once that is confirmed. */
export function SendAll({ filters }: { readonly filters: EventFilters }) {
  const [isOpen, setOpen] = useState(false);
  const redrive = useRedriveDead();
  const dead = useStatus().data?.administration?.dead_events;
  const { sink, kind } = filters;
  const sinks = sink === undefined ? SINK_NAMES : [sink];
  const send = async () => {
    const count = await redrive.mutateAsync({ sinks, ...(kind !== undefined && { kind }) });
    showToast(`${countOf(count, "event is", "events are")} sent again`);
  };
  const what = [
    kind === undefined ? "All dead events" : `All dead events of kind ${kind}`,
    sink === undefined ? "" : ` of the sink "${labelOfSink(sink)}"`,
  ].join("");
  return (
    <>
      <Button
        disabledReason={dead === 0 ? "No event is dead." : undefined}
        onClick={() => setOpen(true)}
      >
        Send dead events again
      </Button>
      <ConfirmDialog
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        title="Send dead events again?"
        action="Send events"
        onConfirm={send}
      >
        <p>
          {what} are tried again at once, as often as new ones. A receiver that has taken one of
          them already gets it once more.
        </p>
      </ConfirmDialog>
    </>
  );
}
