import { ServiceError } from "../../../core/service-error.ts";
import type { SavedConnection } from "../../../tools/connections/connection.ts";
import type { Connections } from "../../../tools/connections/open-connections.ts";
import { StepFailure } from "../../runs/run.ts";
import type { FieldFault } from "../step-kind.ts";

/** Returns what is wrong with the name of a saved connection. */
export function connectionFaults(
  { saved }: Pick<Connections, "saved">,
  name: string,
): readonly FieldFault[] {
  return saved.find(name) === undefined
    ? [{ field: "connection", message: unknownConnection(name) }]
    : [];
}

/** Throws a `StepFailure` for a connection that was deleted or renamed. */
export function findConnection(
  { saved }: Pick<Connections, "saved">,
  name: string,
): SavedConnection {
  const found = saved.find(name);
  if (found === undefined) throw new StepFailure("connection_not_found", unknownConnection(name));
  return found;
}

/** A failure of a saved connection as one of the step: those of its server may be gone at the next try. */
export function connectionFailure(thrown: unknown): unknown {
  if (!(thrown instanceof ServiceError)) return thrown;
  const { code, message } = thrown;
  const isRetryable = ["upstream_error", "upstream_timeout", "overloaded"].includes(code);
  return new StepFailure(code, message, { isRetryable, cause: thrown });
}

function unknownConnection(name: string): string {
  return `There is no saved connection '${name}'; see GET /api/connections.`;
}
