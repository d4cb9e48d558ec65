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
  if (openId !== NEW) return <OpenWorkflow key={openId} id={openId} onGone={close} />;
  const text = given ?? EXAMPLES.find(({ name }) => name === example)?.text ?? BLANK;
  return <NewWorkflow text={text} onSaved={open} />;
}
