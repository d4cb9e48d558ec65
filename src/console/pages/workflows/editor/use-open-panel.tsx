import { type ReactNode, useState } from "react";
import { LeaveDialog } from "../../../ui/forms/unsaved-guard.tsx";
import type { ViewProps } from "./editor-props.ts";
import type { Draft } from "./use-draft.ts";

interface OpenPanel extends Pick<ViewProps, "onOpen" | "onReplaced"> {
  readonly question: ReactNode;
}

/**
 * A text that cannot be read is in its field alone, and would be gone with the panel.
 *
 * @param now the name of the open panel.
 * @param show opens a panel at once.
 */
export function useOpenPanel(draft: Draft, now: string, show: (name: string) => void): OpenPanel {
  const [next, setNext] = useState<string>();
  return {
    onOpen(name) {
      if (draft.unread > 0 && name !== now) setNext(name);
      else show(name);
    },
    onReplaced: show,
    question: (
      <LeaveDialog
        isOpen={next !== undefined}
        what="Texts that are no JSON"
        onStay={() => setNext(undefined)}
        onLeave={() => {
          setNext(undefined);
          show(next ?? "");
        }}
      />
    ),
  };
}
