import { useState } from "react";
import {
  type ServerTool,
  type ToolServer,
  useApproveTools,
} from "../../api/queries/tool-servers.ts";
import { countOf } from "../../lib/count.ts";
import { SchemaView } from "../../parts/schema/schema-view.tsx";
import { LEVELS, ToolLevelBadge } from "../../parts/tool-level.tsx";
import { Button } from "../../ui/buttons/button.tsx";
import { Checkbox } from "../../ui/forms/checkbox.tsx";
import { Form } from "../../ui/forms/form.tsx";
import { Dialog } from "../../ui/overlays/dialog.tsx";
import { showToast } from "../../ui/overlays/toast.tsx";
import { Diff } from "../../ui/text/diff.tsx";

interface ReviewDialogProps {
  /** The server as it was when the review began; undefined closes the dialog. */
  readonly reviewed: ToolServer | undefined;
  readonly current: ToolServer;
  /** Begins again with what the server lists now. */
  readonly onRenew: () => void;
  readonly onClose: () => void;
}

/** What waits for approval, with what differs from what was approved. Only what is seen here is approved. */
export function ReviewDialog({ reviewed, current, onRenew, onClose }: ReviewDialogProps) {
  return (
    <Dialog
      isOpen={reviewed !== undefined}
      onClose={onClose}
      title={`Review tools of ${current.name}`}
      description="Models read names, descriptions and arguments as instructions. Approve what you would tell them yourself."
      isWide
    >
      {reviewed !== undefined && (
        <Review
          key={reviewed.revision}
          reviewed={reviewed}
          isOld={reviewed.revision !== current.revision}
          onRenew={onRenew}
          onClose={onClose}
        />
      )}
    </Dialog>
  );
}

interface ReviewProps {
  readonly reviewed: ToolServer;
  readonly isOld: boolean;
  readonly onRenew: () => void;
  readonly onClose: () => void;
}

function Review({ reviewed, isOld, onRenew, onClose }: ReviewProps) {
  const tools = reviewed.tools.filter(({ state }) => state === "waiting" || state === "changed");
  const [chosen, setChosen] = useState<ReadonlySet<string>>(
    () => new Set(tools.map(({ name }) => name)),
  );
  const approve = useApproveTools(reviewed.id);
  const choose = (name: string, isChosen: boolean) => {
    const next = new Set(chosen);
    if (isChosen) next.add(name);
    else next.delete(name);
    setChosen(next);
  };
  return (
    <Form
      action={`Approve ${countOf(chosen.size, "tool")}`}
      onCancel={onClose}
      disabledReason={chosen.size === 0 ? "No tool is chosen." : undefined}
      onSubmit={async () => {
        await approve.mutateAsync({ tools: [...chosen], revision: reviewed.revision });
        onClose();
        showToast(`${countOf(chosen.size, "tool")} approved`);
      }}
    >
      {isOld && (
        <div
          role="status"
          className="flex flex-wrap items-center gap-3 rounded-lg bg-warn-soft p-3"
        >
          <p className="min-w-0 flex-1 text-warn">
            The list has changed since you opened it; this one cannot be approved any more.
          </p>
          <Button onClick={onRenew}>Show the new list</Button>
        </div>
      )}
      {tools.length === 0 && <p className="text-muted">Nothing waits any more.</p>}
      {tools.map((tool) => (
        <section
          key={tool.name}
          aria-label={tool.name}
          className="grid min-w-0 gap-3 rounded-lg border border-line p-3"
        >
          <Checkbox
            name={`approve-${tool.name}`}
            label={
              <span className="flex min-w-0 flex-wrap items-baseline gap-x-3">
                <code className="font-mono font-medium break-all">
                  <bdi>{tool.name}</bdi>
                </code>
                <span className="text-sm text-muted">
                  {tool.state === "waiting" ? "new" : "changed"}
                </span>
              </span>
            }
            isChecked={chosen.has(tool.name)}
            onChange={(isChosen) => choose(tool.name, isChosen)}
          />
          {tool.listed === undefined ? <NewTool tool={tool} /> : <ChangedTool tool={tool} />}
          {tool.schema_replaced && (
            <p className="text-warn">
              Its schema is too large to be shown: any object is accepted, and the server checks it.
            </p>
          )}
        </section>
      ))}
    </Form>
  );
}

function NewTool({ tool }: { readonly tool: ServerTool }) {
  return (
    <>
      <ToolName tool={tool} />
      <p className="break-words whitespace-pre-line">
        <bdi>{tool.description || "It has no description."}</bdi>
      </p>
      <SchemaView schema={tool.parameters} label={`Arguments of ${tool.name}`} />
    </>
  );
}

function ChangedTool({ tool }: { readonly tool: ServerTool }) {
  const { listed = tool } = tool;
  const json = (schema: unknown) => JSON.stringify(schema, null, 2);
  return (
    <>
      <ToolName tool={tool} />
      {listed.level !== tool.level && tool.level_source === "annotations" && (
        <p className="text-warn">
          Its level becomes {LEVELS[listed.level]}; it was {LEVELS[tool.level]}.
        </p>
      )}
      <Diff label="The description" before={tool.description} after={listed.description} />
      <Diff
        label="The schema of its arguments"
        before={json(tool.parameters)}
        after={json(listed.parameters)}
        isCode
      />
    </>
  );
}

function ToolName({ tool }: { readonly tool: ServerTool }) {
  return (
    <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-sm text-muted">
      {tool.tool === null ? (
        "It cannot be offered: no name is left for it."
      ) : (
        <span className="break-all">
          offered as <code className="font-mono">{tool.tool}</code>
        </span>
      )}
      <ToolLevelBadge level={tool.level} />
    </p>
  );
}
