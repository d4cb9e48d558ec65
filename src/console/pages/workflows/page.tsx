import { useState } from "react";
import { useOpenRow } from "../../ui/navigation/use-open-row.ts";
import { useUrlState } from "../../ui/navigation/use-url-state.ts";
import { NewWorkflow, OpenWorkflow } from "./editor/open-workflow.tsx";
import { BLANK, EXAMPLES } from "./list/examples.ts";
import { WorkflowList } from "./list/workflow-list.tsx";

/** In the place of an id: a workflow that is not saved yet. */
const NEW = "new";
const DEFAULTS = { example: "" };

/** The workflows that one may see, and one of them with its definition. */
export function Page() {
  const { openId, open, close } = useOpenRow("workflows");
  const [{ example }] = useUrlState(DEFAULTS);
  const [given, setGiven] = useState<string>();
  // What was typed into a new workflow while it was being created, for the page that it gets then.
  const [later, setLater] = useState<{ readonly id: string; readonly text: string | undefined }>();
  if (later !== undefined && openId !== NEW && openId !== later.id) setLater(undefined);
  if (openId === undefined) {
    return (
      <WorkflowList
        onOpen={open}
        onNew={(text) => {
          setGiven(text);
          open(NEW);
        }}
      />
    );
  }
  if (openId !== NEW) {
    const typed = later?.id === openId ? later.text : undefined;
    return (
      <OpenWorkflow
        key={openId}
        id={openId}
        later={typed}
        onGone={close}
        onRenew={(text) => {
          setGiven(text);
          open(NEW);
        }}
      />
    );
  }
  const text = given ?? EXAMPLES.find(({ name }) => name === example)?.text ?? BLANK;
  const onSaved = (id: string, typed: string | undefined) => {
    setLater({ id, text: typed });
    open(id);
  };
  return <NewWorkflow text={text} onSaved={onSaved} />;
}
