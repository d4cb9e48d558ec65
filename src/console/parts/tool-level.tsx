import type { ToolLevel } from "../api/queries/tools.ts";
import { Badge } from "../ui/status/badge.tsx";

export const LEVELS: Readonly<Record<ToolLevel, string>> = {
  read_only: "Read only",
  write: "Write",
  full_auto: "Everything, unasked",
};

const TONES = { read_only: "plain", write: "accent", full_auto: "warn" } as const;

/** What a tool may do, from the least to the most. */
export function ToolLevelBadge({ level }: { readonly level: ToolLevel }) {
  return <Badge tone={TONES[level]}>{LEVELS[level]}</Badge>;
}
