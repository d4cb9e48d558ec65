import { CircleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { flushSync } from "react-dom";
import { countOf } from "../../../lib/count.ts";
import { lineOf } from "../../../lib/json/json-text.ts";
import { placeOfFault, type WorkflowFault } from "../../../lib/workflow-text.ts";
import { Button } from "../../../ui/buttons/button.tsx";
import { ErrorCard } from "../../../ui/status/error-card.tsx";
import type { SavedWorkflow } from "./editor-props.ts";
import type { Draft } from "./use-draft.ts";
import type { Save } from "./use-save.ts";

interface FaultListProps {
  readonly draft: Draft;
  readonly save: Save;
  readonly saved: SavedWorkflow | undefined;
  readonly onShow: (fault: WorkflowFault) => void;
  readonly onShowText: (offset: number) => void;
  /** Takes what somebody else saved. */
  readonly onDiscard: () => void;
  readonly onRenew: () => void;
}

/** What is wrong with a draft, each fault with its step, field and line, and what became of a try to save it. */
export function FaultList(props: FaultListProps) {
  const { draft, save, saved, onShow, onShowText } = props;
  const { fault, faults, text, document } = draft;
  return (
    <>
      {saved?.isGone && !save.isGone && <Gone {...props} />}
      {(save.isConflict || saved?.isOutdated) && <Conflict {...props} />}
      {save.failure !== undefined && !save.isConflict && (
        <ErrorCard what={save.failure.what} error={save.failure.error} />
      )}
      {fault !== undefined && (
        <Card title="The text is no JSON">
          <li>
            <FaultButton onClick={() => onShowText(fault.offset)}>
              Line {lineOf(text, fault.offset)}: {fault.message}
            </FaultButton>
            <p className="text-sm text-muted">Graph and list show the last text that was.</p>
          </li>
        </Card>
      )}
      {fault === undefined && faults.length > 0 && (
        <Card title={countOf(faults.length, "fault")}>
          {faults.map((each) => {
            const place = placeOfFault(document, each);
            const where = [each.step, each.field].filter(Boolean).join(" · ");
            return (
              <li key={`${where} ${each.message}`}>
                <FaultButton onClick={() => onShow(each)}>
                  <strong className="font-medium">{where}</strong>
                  {place !== undefined && (
                    <span className="text-muted"> line {lineOf(text, place.start)}</span>
                  )}
                  : {each.message}
                </FaultButton>
              </li>
            );
          })}
        </Card>
      )}
    </>
  );
}

/** Somebody else changed the workflow; the draft stays. */
function Conflict({ save, saved, onDiscard }: FaultListProps) {
  if (saved === undefined) return null;
  return (
    <div role="alert" className="grid gap-2 rounded-lg border border-warn bg-warn-soft p-3">
      <p className="font-medium text-warn">
        Somebody changed the workflow meanwhile: it is version {saved.workflow.version} now.
      </p>
      <p>Your changes are still here. The tab Versions shows the other one.</p>
      <div className="flex flex-wrap gap-2">
        <Button onClick={() => void save.saveOver()}>Save mine over it</Button>
        <Button onClick={onDiscard}>Discard mine</Button>
      </div>
    </div>
  );
}

/** Somebody else deleted the workflow; the draft stays, to be saved as another one. */
function Gone({ save, onRenew }: FaultListProps) {
  return (
    <div role="alert" className="grid gap-2 rounded-lg border border-warn bg-warn-soft p-3">
      <p className="font-medium text-warn">
        The workflow was deleted meanwhile, or it is no longer shared with you.
      </p>
      <p>What this tab has of it is still here. Its runs are in the history of its owner.</p>
      <div>
        <Button
          onClick={() => {
            // The guard of unsaved changes is gone with them, before the view is left.
            flushSync(() => save.setGone());
            onRenew();
          }}
        >
          Go on as a new workflow
        </Button>
      </div>
    </div>
  );
}

function Card({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <div role="alert" className="flex gap-3 rounded-lg border border-bad bg-bad-soft p-3">
      <CircleAlert size={18} className="mt-px shrink-0 text-bad" aria-hidden />
      <div className="grid min-w-0 flex-1 gap-1">
        <p className="font-medium text-bad">{title}</p>
        <ul className="grid gap-1">{children}</ul>
      </div>
    </div>
  );
}

function FaultButton(props: { readonly onClick: () => void; readonly children: ReactNode }) {
  return (
    <button
      type="button"
      onClick={props.onClick}
      className="min-h-6 max-w-full break-words text-start underline decoration-1 underline-offset-2 hover:decoration-2"
    >
      {props.children}
    </button>
  );
}
