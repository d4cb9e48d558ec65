import { Handle, type NodeProps, Position } from "@xyflow/react";
import { Zap } from "lucide-react";
import { classes } from "../../ui/classes.ts";
import type { Tone } from "../../ui/status/badge.tsx";
import { StatusDot } from "../../ui/status/status-dot.tsx";

/** The boxes of a graph of steps. */

/** What a step's box says beside its name. */
export interface FlowNote {
  readonly tone: Tone;
  readonly text: string;
  readonly detail?: string | undefined;
  /** What went wrong in a step that went on; it is always seen whole. */
  readonly errors?: string | undefined;
  readonly isBad?: boolean;
}

export interface StepNodeData {
  readonly id: string;
  readonly kind: string;
  readonly note: FlowNote | undefined;
  readonly outputs: readonly string[];
  readonly isConnectable: boolean;
}

export function StepNode({ data, selected }: NodeProps) {
  const { id, kind, note, outputs, isConnectable } = data as unknown as StepNodeData;
  return (
    <div
      className={classes(
        "grid h-full w-full content-center rounded-lg border bg-surface px-3 py-1.5 text-start",
        selected && "border-accent ring-2 ring-accent",
        !selected && (note?.isBad ? "border-bad" : "border-edge"),
      )}
    >
      <Handle type="target" position={Position.Left} isConnectable={isConnectable} />
      <span className="truncate font-medium">{id || "(no id)"}</span>
      <span className="flex gap-2 text-sm text-muted">
        <span className="min-w-0 flex-1 truncate">{kind || "(no kind)"}</span>
        {note?.errors !== undefined && <span className="shrink-0 text-bad">{note.errors}</span>}
      </span>
      {note !== undefined && (
        <span className="truncate text-sm">
          <StatusDot tone={note.tone}>
            {note.text}
            {note.detail !== undefined && ` · ${note.detail}`}
          </StatusDot>
        </span>
      )}
      {outputs.map((output, index) => (
        <Handle
          key={output}
          id={output}
          type="source"
          title={output}
          position={Position.Right}
          isConnectable={isConnectable}
          style={{ top: `${((index + 1) * 100) / (outputs.length + 1)}%` }}
        />
      ))}
    </div>
  );
}

export function TriggerNode({ data }: NodeProps) {
  return (
    <div className="flex h-full w-full items-center gap-2 rounded-lg border border-dashed border-edge bg-surface px-3 text-start">
      <Zap size={16} className="shrink-0 text-muted" aria-hidden />
      <span className="line-clamp-2 min-w-0 break-words">{String(data["text"])}</span>
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  );
}
