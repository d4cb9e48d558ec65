import type { Metric } from "../core/metric.ts";
import { zeroCounts } from "../lib/zero-counts.ts";
import type { Tool } from "./tool.ts";

/** How a call of a tool ended: `error` is a result that reports a failure, `aborted` a call whose client left. */
export const TOOL_OUTCOMES = ["ok", "error", "aborted"] as const;
export type ToolOutcome = (typeof TOOL_OUTCOMES)[number];

/** Stands for the tools of all tool servers, whose names are not known in advance. */
const TOOL_SERVER = "tool_server";

/** The calls of tools that this process has run. */
export interface ToolFigures {
  readonly countCall: (tool: Pick<Tool, "name">, outcome: ToolOutcome) => void;
  readonly metrics: readonly Metric[];
}

/** @param builtIn the names of the built-in tools, each of which is counted by itself. */
export function createToolFigures(builtIn: readonly string[]): ToolFigures {
  const calls = new Map([...builtIn, TOOL_SERVER].map((tool) => [tool, zeroCounts(TOOL_OUTCOMES)]));
  return {
    countCall({ name }, outcome) {
      const counts = calls.get(name) ?? calls.get(TOOL_SERVER);
      if (counts !== undefined) counts[outcome] += 1;
    },
    metrics: [
      {
        name: "svc_tool_calls_total",
        type: "counter",
        help: "Calls of tools by outcome; those of all tool servers together are tool_server.",
        labels: ["tool", "outcome"],
        read: () =>
          [...calls].flatMap(([tool, counts]) =>
            TOOL_OUTCOMES.map((outcome) => ({ labels: { tool, outcome }, value: counts[outcome] })),
          ),
      },
    ],
  };
}
