import type { JsonObject } from "../../../lib/json/json.ts";
import type { ToolResult } from "../../tool.ts";

/** Where a tool server is and what each request to it carries. */
export interface ToolServerLink {
  /** An http or https address. */
  readonly url: string;
  /** Sent with each request. Secret: they stand in no error and in no log line. */
  readonly headers: Readonly<Record<string, string>>;
  /** Time limit of one listing or one call, with all the requests that it needs. */
  readonly timeoutMs: number;
}

/** A tool as its server lists it, cleaned and bounded. */
export interface ListedTool {
  /** The server's own name for it, 1 to 128 characters. Unique within one list. */
  readonly name: string;
  /** At most 4,096 characters; may be empty. */
  readonly description: string;
  /** An object schema of at most 64 KiB, which can be compiled and checked without risk. */
  readonly inputSchema: JsonObject;
  /** That of the structured content of its results, as `inputSchema`; undefined without one. */
  readonly outputSchema?: JsonObject | undefined;
  /** What the server says of the tool. It may be wrong. */
  readonly annotations: {
    readonly readOnlyHint?: boolean;
    readonly destructiveHint?: boolean;
  };
}

/** A tool of a list that cannot be offered, and why: for administrators, who would miss it. */
export interface LeftOutTool {
  /** What it can be recognised by: its name, cleaned and cut; null without one. */
  readonly name: string | null;
  readonly reason: string;
}

/** Everything that a server lists. */
export interface ListedTools {
  readonly tools: readonly ListedTool[];
  /** At most a few dozen. */
  readonly leftOut: readonly LeftOutTool[];
  /** The names of tools whose schema is too large, so that any object is accepted in its place. */
  readonly replaced: readonly string[];
}

export interface ToolServerCall {
  /** The server's own name of the tool. */
  readonly name: string;
  readonly args: JsonObject;
  /** The tool's schema as listed, in which servers may mark arguments that they want as headers, too. */
  readonly inputSchema?: JsonObject;
}

/** The client of tool servers: servers of the Model Context Protocol over Streamable HTTP. */
export interface ToolServerClient {
  /** Returns the tools of all pages. Rejects with a `ToolServerFailure`, or with the reason of the signal. */
  readonly list: (server: ToolServerLink, signal: AbortSignal) => Promise<ListedTools>;
  /**
   * Runs a tool. A failure that the server reports is a result with `isError`. Rejects with a `ToolServerFailure`, or
   * with the reason of the signal.
   */
  readonly call: (
    server: ToolServerLink,
    call: ToolServerCall,
    signal: AbortSignal,
  ) => Promise<ToolResult>;
}
