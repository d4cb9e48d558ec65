import { useCallback, useMemo, useRef, useState } from "react";
import type { JsonFault } from "../../../lib/json/json-text.ts";
import {
  beginHistory,
  editText,
  type TextHistory,
  typeText,
  undoChange,
} from "../../../lib/text-history.ts";
import {
  readWorkflow,
  type WorkflowDocument,
  type WorkflowFault,
} from "../../../lib/workflow-text.ts";

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
  /** Fields whose text cannot be read, and so is not in the draft's: it is dirty with them. */
  readonly unread: number;
  readonly countUnread: (change: number) => void;
  /** Counts the beginnings: what went wrong before one is over with it. */
  readonly beginnings: number;
  /** Takes what was sent as saved; what was changed since it was sent stays, and is not saved. */
  readonly settle: (saved: string, sent: string) => void;
}

interface Edited extends TextHistory {
  /** What is saved of it. */
  readonly base: string;
}

interface DraftOptions {
  /** Nothing of it is saved: it is dirty from the beginning. */
  readonly isNew?: boolean;
  /** What was typed into it before, which is not saved. */
  readonly typed?: string | undefined;
}

/** @param saved the text that is saved, or that a new workflow begins with. */
export function useDraft(saved: string, { isNew = false, typed }: DraftOptions): Draft {
  const [edited, setEdited] = useState<Edited>({ ...beginHistory(typed ?? saved), base: saved });
  const { text, past, base } = edited;
  const [beginnings, setBeginnings] = useState(0);
  const [faults, setFaults] = useState<readonly WorkflowFault[]>([]);
  const [unread, setUnread] = useState(0);
  const countUnread = useCallback((change: number) => setUnread((now) => now + change), []);
  const read = useMemo(() => readWorkflow(text), [text]);
  const last = useRef(EMPTY);
  if ("document" in read) last.current = read;
  const document = "document" in last.current ? last.current.document : undefined;
  if (document === undefined) throw new Error("an empty object is a workflow");
  return {
    ...{ text, document, faults, setFaults, beginnings, unread, countUnread },
    fault: "fault" in read ? read.fault : undefined,
    isDirty: isNew || text !== base || unread > 0,
    type: (next) => setEdited((now) => ({ ...now, ...typeText(now, next) })),
    edit(change) {
      if ("fault" in read) return;
      const next = change(text);
      setEdited({ ...edited, ...editText(edited, next) });
    },
    undo:
      past.length === 0 ? undefined : () => setEdited((now) => ({ ...now, ...undoChange(now) })),
    reset(next) {
      setEdited({ ...beginHistory(next), base: next });
      setFaults([]);
      setBeginnings((before) => before + 1);
    },
    settle(next, sent) {
      setEdited((now) =>
        // What was sent is the base of what was typed since: next has what others changed beside it, too.
        now.text === sent ? { ...beginHistory(next), base: next } : { ...now, base: sent },
      );
      setFaults([]);
    },
  };
}
