import type { JsonObject } from "../../../lib/json/json.ts";
import type { ToolNames } from "./tool-names.ts";

/** The part of a responses request that determines the shape of its answer. */
export interface ResponsesForm {
  /** All fields of the answer that repeat the request, as the format requires. */
  readonly repeated: JsonObject;
  /** Maps calls back to the client's own names. */
  readonly toolNames: ToolNames;
  /** The client wants the `encrypted_content` of all reasoning, to send it back with its next request. */
  readonly sealsThoughts: boolean;
  /** The client wants the passages that its `file_search` found. */
  readonly wantsSearchResults: boolean;
  /** Stores a complete response, so that later requests can refer to it; undefined when it is not to be stored. */
  readonly remember?: ((requestId: string, response: ResponseText) => void) | undefined;
}

/** The JSON text of a response in three pieces: its output, and the text before and after it. */
export interface ResponseText {
  readonly before: string;
  readonly output: string;
  readonly after: string;
}
