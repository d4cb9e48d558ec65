import { causeOf, type Log } from "../../../lib/log.ts";
import { untilAborted } from "../../../lib/until-aborted.ts";
import type { ListedTools, ToolServerClient, ToolServerLink } from "./tool-server-client.ts";
import { ToolServerFailure } from "./tool-server-failure.ts";

/** The longest check. With the pause between two of them a failure is seen within half a minute. */
const CHECK_TIMEOUT_MS = 8_000;

/** What a check has found: the tools that the server lists, or a sentence about why it cannot be used. */
export type CheckOutcome =
  | (ListedTools & { readonly reason?: undefined })
  | { readonly reason: string };

export type AskServer = (link: ToolServerLink | undefined) => Promise<CheckOutcome>;

interface AskOptions {
  readonly client: Pick<ToolServerClient, "list">;
  readonly log: Log;
  /** Ends all checks. */
  readonly closing: AbortSignal;
}

export const HEADERS_UNREADABLE =
  "The headers of the tool server cannot be opened, because APP_SECRET is another one than when they were saved. Save them again.";

const UNEXPECTED =
  "The check of the tool server failed unexpectedly. The operator finds the cause in the log.";

/** Creates the function that checks a server once, by listing its tools. It rejects only when checks are ended. */
export function createAskServer({ client, log, closing }: AskOptions): AskServer {
  return async (link) => {
    if (link === undefined) return { reason: HEADERS_UNREADABLE };
    const timeoutMs = Math.min(link.timeoutMs, CHECK_TIMEOUT_MS);
    try {
      const listing = client.list({ ...link, timeoutMs }, closing);
      return await untilAborted(listing, closing);
    } catch (thrown) {
      closing.throwIfAborted();
      if (thrown instanceof ToolServerFailure) return { reason: thrown.message };
      log.error({ cause: causeOf(thrown) }, "the check of a tool server failed unexpectedly");
      return { reason: UNEXPECTED };
    }
  };
}
