import { useModelFigures } from "../../api/queries/models.ts";
import { StatusStrip } from "../../parts/status-strip.tsx";
import { Button } from "../../ui/buttons/button.tsx";
import { PageHeader } from "../../ui/navigation/page-header.tsx";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { changePreferences, usePreferences } from "../../ui/preferences.ts";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { Figures } from "./figures.tsx";
import { NoEngine } from "./no-engine.tsx";
import { Steps } from "./steps.tsx";
import { Tops } from "./tops.tsx";
import { useFirstSteps } from "./use-first-steps.ts";

/** How the gateway is, what there is to do at first, and what the last 24 hours were like. */
export function Page() {
  // The server says when its day began.
  const day = useModelFigures();
  const steps = useFirstSteps();
  const isHidden = usePreferences().steps === "hidden";
  const isAllDone = steps !== undefined && Object.values(steps).every(Boolean);
  return (
    <>
      <PageHeader title="Overview">
        {isHidden && steps !== undefined && !isAllDone && (
          <Button look="quiet" onClick={() => changePreferences({ steps: "shown" })}>
            Show the first steps
          </Button>
        )}
        <CallButton call={{ method: "GET", path: "/api/status", credential: "session" }} />
      </PageHeader>
      <StatusStrip />
      <NoEngine />
      {steps !== undefined && !isHidden && !isAllDone && (
        <Steps steps={steps} onHide={() => changePreferences({ steps: "hidden" })} />
      )}
      {day.data === undefined && day.error !== null ? (
        <ErrorCard
          what="The figures could not be loaded"
          error={day.error}
          onRetry={() => void day.refetch()}
        />
      ) : (
        <>
          <Figures from={day.data?.from} />
          <Tops from={day.data?.from} />
        </>
      )}
    </>
  );
}
