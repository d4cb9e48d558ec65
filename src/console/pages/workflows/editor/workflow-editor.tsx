import { useState } from "react";
import { useStepKinds } from "../../../api/queries/workflows.ts";
import { placeOfFault } from "../../../lib/workflow-text.ts";
import { UnreadFields } from "../../../ui/forms/unread-fields.ts";
import { UnsavedGuard } from "../../../ui/forms/unsaved-guard.tsx";
import { Tabs } from "../../../ui/navigation/tabs.tsx";
import { useOpenPart, useUrlState } from "../../../ui/navigation/use-url-state.ts";
import { SMALL, useMedia } from "../../../ui/use-media.ts";
import { AddStepDialog } from "../steps/add-step-dialog.tsx";
import { GraphView } from "../steps/graph-view.tsx";
import { ListSteps } from "../steps/list-steps.tsx";
import { StepPanel } from "../steps/step-panel.tsx";
import { StepTools } from "../steps/step-tools.tsx";
import { TriggerPanel } from "../triggers/trigger-panel.tsx";
import { TriggersView } from "../triggers/triggers-view.tsx";
import { EditorHeader } from "./editor-header.tsx";
import type { SavedWorkflow, ViewProps, WorkflowEditorProps } from "./editor-props.ts";
import { FaultList } from "./fault-list.tsx";
import { HeadPanel } from "./head-panel.tsx";
import { JsonView } from "./json-view.tsx";
import { readPanel } from "./panel.ts";
import { SavedFacts } from "./saved-facts.tsx";
import { useOpenPanel } from "./use-open-panel.tsx";
import { useSave } from "./use-save.ts";
import { VersionsView } from "./versions-view.tsx";

const DEFAULTS = { view: "", step: "" };
const VIEWS = ["graph", "list", "json", "triggers", "versions"];

/** A workflow as graph, list and JSON, which are views of one text, and what can be done with it. */
export function WorkflowEditor(props: WorkflowEditorProps) {
  const { draft, saved, readOnlyReason } = props;
  const [state, change] = useUrlState(DEFAULTS);
  const openPart = useOpenPart(DEFAULTS, "step");
  const isSmall = useMedia(SMALL);
  const kinds = useStepKinds();
  const save = useSave(props);
  const [addingAfter, setAdding] = useState<number>();
  const [place, setPlace] = useState<{ readonly offset: number }>();
  const known = saved === undefined ? VIEWS.slice(0, 3) : VIEWS;
  const view = known.find((one) => one === state.view) ?? (isSmall ? "list" : "graph");
  const panel = readPanel(state.step, draft.document);
  const opening = useOpenPanel(draft, state.step, (step) => openPart({ step }));
  const { onOpen: open, onReplaced, question } = opening;
  const views = {
    ...{ draft, kinds: kinds.data, readOnlyReason, panel },
    ...{ onOpen: open, onReplaced, onAdd: setAdding },
  };
  const name = String(draft.document.value["name"] ?? "");
  return (
    <>
      <EditorHeader {...props} name={name} save={save} onOpenPanel={open} />
      {saved !== undefined && <SavedFacts workflow={saved.workflow} />}
      <FaultList
        draft={draft}
        save={save}
        saved={saved}
        onDiscard={() => saved && props.onSaved(saved.workflow)}
        onRenew={() => props.onRenew(draft.text)}
        onShow={(fault) => {
          const found = placeOfFault(draft.document, fault);
          if (view === "json" && found !== undefined) setPlace({ offset: found.start });
          else open(fault.step ?? panelOfField(fault.field));
        }}
        onShowText={(offset) => {
          change({ view: "json" });
          setPlace({ offset });
        }}
      />
      <div className="flex min-w-0 flex-1 items-start gap-4">
        <div className="min-w-0 flex-1">
          <Tabs
            label="Views of the workflow"
            value={view}
            onChange={(next) => change({ view: next })}
            tabs={[
              {
                id: "graph",
                label: "Graph",
                content: (
                  <>
                    <StepTools {...views} />
                    <GraphView {...views} />
                  </>
                ),
              },
              {
                id: "list",
                label: "List",
                content: (
                  <>
                    <StepTools {...views} />
                    <ListSteps {...views} />
                  </>
                ),
              },
              { id: "json", label: "JSON", content: <JsonView {...views} place={place} /> },
              ...(saved === undefined
                ? []
                : [
                    {
                      id: "triggers",
                      label: "Triggers and secrets",
                      content: <TriggersView {...props} workflow={saved.workflow} />,
                    },
                    {
                      id: "versions",
                      label: "Versions",
                      content: <VersionsView {...props} saved={saved} />,
                    },
                  ]),
            ]}
          />
        </div>
        <UnreadFields value={draft.countUnread}>
          <OpenPanel {...views} saved={saved} onClose={() => open("")} />
        </UnreadFields>
      </div>
      <AddStepDialog
        after={addingAfter}
        draft={draft}
        kinds={kinds.data}
        onClose={() => setAdding(undefined)}
        onAdded={open}
      />
      {question}
      {!save.isGone && (
        <UnsavedGuard
          isUnsaved={draft.isDirty && readOnlyReason === undefined}
          what={`The changes of ${name || "the workflow"}`}
        />
      )}
    </>
  );
}

function panelOfField(field: string): string {
  const trigger = /^triggers\[(\d+)\]/.exec(field)?.[1];
  return trigger === undefined ? "$settings" : `$trigger${trigger}`;
}

interface OpenPanelProps extends ViewProps {
  readonly saved: SavedWorkflow | undefined;
  readonly onClose: () => void;
}

/** What is open beside the views. */
function OpenPanel(props: OpenPanelProps) {
  const { panel } = props;
  if (panel === undefined) return null;
  if (panel.kind === "settings") return <HeadPanel {...props} />;
  if (panel.kind === "trigger") return <TriggerPanel {...props} at={panel.at} />;
  return <StepPanel {...props} at={panel.at} />;
}
