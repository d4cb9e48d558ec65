import { Suspense } from "react";
import { lazyPart } from "../ui/status/lazy-part.tsx";
import { Skeleton } from "../ui/status/skeleton.tsx";
import type { CodeMirrorProps } from "./code-mirror.tsx";

/** The editor is large, and most pages are seen without one. */
const CodeMirror = lazyPart(async () => (await import("./code-mirror.tsx")).CodeMirror);

/** An editor for JSON or SQL, with the marks of faults at their lines. Tab leaves it. */
export function CodeEditor(props: CodeMirrorProps) {
  return (
    <Suspense fallback={<Skeleton shape="block" label={`${props.label} is loading`} />}>
      <CodeMirror {...props} />
    </Suspense>
  );
}
