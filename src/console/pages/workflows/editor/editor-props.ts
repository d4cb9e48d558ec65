import type { NewWorkflow, StepKinds, Workflow } from "../../../api/queries/workflows.ts";
import type { IssuedWebhook } from "../triggers/webhook-dialog.tsx";
import type { Panel } from "./panel.ts";
import type { Draft } from "./use-draft.ts";

/** What the parts of the editor take. */

export interface SavedWorkflow {
  /** As it is now. */
  readonly workflow: Workflow;
  /** As it was when the draft began. */
  readonly base: Workflow;
  /** Somebody changed it meanwhile. */
  readonly isOutdated: boolean;
  /** It was deleted meanwhile, or is no longer shared. */
  readonly isGone: boolean;
}

/** What was sent of a draft. */
export interface Sent {
  readonly text: string;
  /** The workflow as the draft knows it then: without what others have changed beside what was sent. */
  readonly known: Workflow;
}

export interface Saving {
  readonly draft: Draft;
  readonly saved: SavedWorkflow | undefined;
  /** Of a workflow that is not saved yet. */
  readonly create?: (body: NewWorkflow) => Promise<Workflow>;
  /** Called with what was sent; without it the draft begins anew from the workflow. */
  readonly onSaved: (workflow: Workflow, sent?: Sent) => void;
}

export interface WorkflowEditorProps extends Pick<Saving, "create" | "onSaved"> {
  readonly draft: Draft;
  /** Undefined for a workflow that is not saved yet. */
  readonly saved: SavedWorkflow | undefined;
  readonly readOnlyReason: string | undefined;
  readonly onIssued: (issued: IssuedWebhook) => void;
  readonly onGone: () => void;
  /** Goes on with a text as a new workflow. */
  readonly onRenew: (text: string) => void;
}

/** What every view of a draft and every panel gets. */
export interface ViewProps {
  readonly draft: Draft;
  /** Undefined while they are loading. */
  readonly kinds: StepKinds | undefined;
  readonly readOnlyReason: string | undefined;
  readonly panel: Panel;
  /** Opens a panel by its name; the empty name closes it. Asks first where a text of the open one would be lost. */
  readonly onOpen: (name: string) => void;
  /** Opens what stands in the place of a step or trigger that was renamed or deleted. */
  readonly onReplaced: (name: string) => void;
  /** Asks for a step behind the one at this place. */
  readonly onAdd: (after: number) => void;
}
