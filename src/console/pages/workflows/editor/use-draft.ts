import { useMemo, useRef, useState } from "react";
import type { JsonFault } from "../../../lib/json/json-text.ts";
import {
  readWorkflow,
  type WorkflowDocument,
  type WorkflowFault,
} from "../../../lib/workflow-text.ts";

const MOST_UNDONE = 100;
const EMPTY = readWorkflow("{}");

/** A workflow while it is edited. Graph, list, forms and JSON are views of one text. */
export interface Draft {
  readonly text: string;
  /** The last text that is JSON: what graph, list and forms show. */
  readonly document: WorkflowDocument;
  /** Why the text is none; graph, list and forms change nothing until it is. */
  readonly fault: JsonFault | undefined;
  readonly isDirty: boolean;
  /** What the server found wrong. */
  readonly faults: readonly WorkflowFault[];
  readonly setFaults: (faults: readonly WorkflowFault[]) => void;
  /** Takes a text as it is typed. */
  readonly type: (text: string) => void;
  /** Changes the text by a form or the graph. */
  readonly edit: (change: (text: string) => string) => void;
  readonly undo: (() => void) | undefined;
  /** Begins anew from a text that is saved. */
  readonly reset: (text: string) => void;
}

/** @param isNew nothing of it is saved: it is dirty from the beginning. */
export function useDraft(saved: string, isNew: boolean): Draft {
  const [base, setBase] = useState(saved);
  const [text, setText] = useState(saved);
  const [past, setPast] = useState<readonly string[]>([]);
  const [faults, setFaults] = useState<readonly WorkflowFault[]>([]);
  const read = useMemo(() => readWorkflow(text), [text]);
  const last = useRef(EMPTY);
  if ("document" in read) last.current = read;
  const document = "document" in last.current ? last.current.document : undefined;
  if (document === undefined) throw new Error("an empty object is a workflow");
  return {
    ...{ text, document, faults, setFaults },
    fault: "fault" in read ? read.fault : undefined,
    isDirty: isNew || text !== base,
    type: setText,
    edit(change) {
      if ("fault" in read) return;
      const next = change(text);
      if (next === text) return;
      setPast([...past, text].slice(-MOST_UNDONE));
      setText(next);
    },
    undo:
      past.length === 0
        ? undefined
        : () => {
            setText(past.at(-1) ?? text);
            setPast(past.slice(0, -1));
          },
    reset(next) {
      setBase(next);
      setText(next);
      setPast([]);
      setFaults([]);
    },
  };
}
