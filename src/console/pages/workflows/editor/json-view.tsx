import { useMemo } from "react";
import { placeOfFault } from "../../../lib/workflow-text.ts";
import { CodeEditor } from "../../../parts/code-editor.tsx";
import type { CodeMark } from "../../../parts/code-mirror.tsx";
import type { ViewProps } from "./editor-props.ts";
import type { Draft } from "./use-draft.ts";

interface JsonViewProps extends ViewProps {
  readonly place: { readonly offset: number } | undefined;
}

/** The text itself. Faults of the server are marked at their step, field and line. */
export function JsonView({ draft, readOnlyReason, place }: JsonViewProps) {
  const { text, fault, faults, document } = draft;
  const marks = useMemo(
    () => marksOf({ text, fault, faults, document }),
    [text, fault, faults, document],
  );
  return (
    <CodeEditor
      label="Definition"
      language="json"
      value={text}
      marks={marks}
      place={place}
      isTall
      {...(readOnlyReason === undefined && { onChange: draft.type })}
    />
  );
}

function marksOf({
  text,
  fault,
  faults,
  document,
}: Pick<Draft, "text" | "fault" | "faults" | "document">): readonly CodeMark[] {
  if (fault !== undefined) {
    const lineEnd = text.indexOf("\n", fault.offset);
    const to = lineEnd === -1 ? text.length : lineEnd;
    return [{ from: fault.offset, to, message: fault.message }];
  }
  return faults.flatMap((each) => {
    const place = placeOfFault(document, each);
    if (place === undefined) return [];
    // Of a step as a whole its first line.
    const lineEnd = text.indexOf("\n", place.start);
    const to = Math.min(place.end, lineEnd === -1 ? text.length : lineEnd);
    return [{ from: place.start, to, message: each.message }];
  });
}
