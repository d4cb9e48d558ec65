import type { BiStatement, StatementFilters } from "../../api/queries/bi-keys.ts";
import { StatusDot } from "../../ui/status/status-dot.tsx";

const OUTCOMES = {
  ok: { tone: "ok", label: "Answered" },
  error: { tone: "bad", label: "Error" },
  refused: { tone: "bad", label: "Refused" },
  cut: { tone: "warn", label: "Cut by a limit" },
  cancelled: { tone: "plain", label: "Cancelled" },
} as const;

export const OUTCOME_CHOICES = Object.entries(OUTCOMES).map(([value, { label }]) => ({
  value,
  label,
}));

function isOutcome(text: string): text is BiStatement["outcome"] {
  return Object.hasOwn(OUTCOMES, text);
}

/** How a statement ended, with the database's code where it gave one. */
export function StatementOutcome({ line }: { readonly line: BiStatement }) {
  const { tone, label } = OUTCOMES[line.outcome];
  return (
    <StatusDot tone={tone}>
      {label}
      {line.code !== null && <code className="font-mono text-sm">{line.code}</code>}
    </StatusDot>
  );
}

/** What narrows the statements, as the address has it. */
export interface StatementState {
  readonly key: string;
  readonly outcome: string;
}

/** Returns the filters as the API names them. */
export function toStatementFilters({ key, outcome }: StatementState): StatementFilters {
  return {
    ...(key !== "" && { principal_id: key }),
    ...(isOutcome(outcome) && { outcome }),
  };
}
