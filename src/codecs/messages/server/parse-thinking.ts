import { EFFORTS, type Effort, parseEffort } from "../../../core/chat/effort.ts";
import { invalidValue } from "../../shared/check-request.ts";
import { readEffort } from "../../shared/metadata-extension.ts";
import type { MessagesRequest } from "./wire.ts";

interface ParsedThinking {
  readonly effort: Effort | undefined;
  /** The client set an effort and no `thinking`. */
  readonly leavesThinking: boolean;
  /** The client wants no reasoning text. */
  readonly omits: boolean;
}

/** Determines the effort from `thinking` and `output_config.effort`; `metadata.ext.thinking` wins. */
export function parseThinking(request: MessagesRequest): ParsedThinking {
  const { thinking, metadata } = request;
  const own = ownEffort(thinking?.type, askedEffort(request));
  const wanted = readEffort(metadata, undefined, []);
  const isShown = thinking != null && "display" in thinking;
  return {
    effort: wanted ?? own,
    leavesThinking: wanted === undefined && own !== undefined && thinking == null,
    omits: isShown && thinking.display === "omitted",
  };
}

type ThinkingType = NonNullable<MessagesRequest["thinking"]>["type"];

function ownEffort(type: ThinkingType | undefined, asked: Effort | undefined): Effort | undefined {
  switch (type) {
    case undefined:
      return asked;
    case "disabled":
      return "none";
    case "between_tools":
      return "low";
    case "adaptive":
    case "enabled":
      return asked ?? "high";
  }
}

/** Returns the named effort. The last system message that sets one applies to the next turn. */
function askedEffort({ output_config, messages }: MessagesRequest): Effort | undefined {
  let effort = toEffort(output_config?.effort, ["output_config", "effort"]);
  for (const [index, message] of messages.entries()) {
    if (message.role !== "system") continue;
    const path = ["messages", index, "output_config", "effort"];
    effort = toEffort(message.output_config?.effort, path) ?? effort;
  }
  return effort;
}

function toEffort(
  word: string | null | undefined,
  path: readonly PropertyKey[],
): Effort | undefined {
  if (word == null) return undefined;
  const effort = parseEffort(word);
  if (effort !== undefined) return effort;
  throw invalidValue(path, `one of ${EFFORTS.map((one) => `"${one}"`).join(", ")}`, word);
}
