import type { ViewProps } from "./editor-props.ts";

/** Why graph, list and forms change nothing. */
export function stopReason({
  draft,
  readOnlyReason,
}: Pick<ViewProps, "draft" | "readOnlyReason">): string | undefined {
  return draft.fault === undefined ? readOnlyReason : "The text is no JSON yet.";
}
