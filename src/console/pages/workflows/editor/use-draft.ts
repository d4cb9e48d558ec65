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
  /** Counts the beginnings: what went wrong before one is over with it. */
  readonly beginnings: number;
  /** Takes what was sent as saved; what was changed since it was sent stays, and is not saved. */
  readonly settle: (saved: string, sent: string) => void;
}

interface Edited {
  readonly text: string;
  /** The texts before it, which are returned to one by one. */
  readonly past: readonly string[];
}

interface DraftOptions {
  /** Nothing of it is saved: it is dirty from the beginning. */
  readonly isNew?: boolean;
  /** What was typed into it before, which is not saved. */
  readonly typed?: string | undefined;
}

/** @param saved the text that is saved, or that a new workflow begins with. */
export function useDraft(saved: string, { isNew = false, typed }: DraftOptions): Draft {
  const [base, setBase] = useState(saved);
  const [{ text, past }, setEdited] = useState<Edited>({ text: typed ?? saved, past: [] });
  const [beginnings, setBeginnings] = useState(0);
  const [faults, setFaults] = useState<readonly WorkflowFault[]>([]);
  const read = useMemo(() => readWorkflow(text), [text]);
  const last = useRef(EMPTY);
  if ("document" in read) last.current = read;
  const document = "document" in last.current ? last.current.document : undefined;
  if (document === undefined) throw new Error("an empty object is a workflow");
  return {
    ...{ text, document, faults, setFaults, beginnings },
    fault: "fault" in read ? read.fault : undefined,
    isDirty: isNew || text !== base,
    type: (next) => setEdited((now) => ({ ...now, text: next })),
    edit(change) {
      if ("fault" in read) return;
      const next = change(text);
      if (next === text) return;
      setEdited({ text: next, past: [...past, text].slice(-MOST_UNDONE) });
    },
    undo:
      past.length === 0
        ? undefined
        : () => setEdited({ text: past.at(-1) ?? text, past: past.slice(0, -1) }),
    reset(next) {
      setBase(next);
      setEdited({ text: next, past: [] });
      setFaults([]);
      setBeginnings((before) => before + 1);
    },
    settle(next, sent) {
      setBase(next);
      setEdited((now) => (now.text === sent ? { text: next, past: [] } : now));
      setFaults([]);
    },
  };
}
