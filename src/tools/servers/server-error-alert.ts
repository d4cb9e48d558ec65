import type { AlertRule } from "../../core/part.ts";
import type { KnownServers } from "./known-servers.ts";
import type { ServerChecks } from "./server-checks.ts";
import type { ServerHealths } from "./server-health.ts";

const SIX_HOURS_MS = 6 * 3_600_000;

interface AlertParts {
  readonly known: Pick<KnownServers, "list">;
  readonly healths: Pick<ServerHealths, "of" | "isInError">;
  readonly checks: Pick<ServerChecks, "check">;
}

/** Warns of each tool server that is in error and fails one more check: a single lost check is no news. */
export function serverErrorAlert({ known, healths, checks }: AlertParts): AlertRule {
  const inError = () => known.list().filter(({ row }) => healths.isInError(row));
  return {
    type: "mcp_server_error",
    window: SIX_HOURS_MS,
    async find() {
      await Promise.all(inError().map(({ row }) => checks.check(row.id)));
      return inError().map(({ row }) => {
        const { id, name } = row;
        const { reason } = healths.of(row);
        return {
          subject: id,
          text: `The tool server ${name} cannot be used; calls of its tools fail until it can. ${reason}`,
          details: { id, name, reason },
          over: `the tool server ${name} can be used again`,
        };
      });
    },
  };
}
