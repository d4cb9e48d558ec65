import type {
  AssistantMessage,
  AssistantPart,
  ChatMessage,
  ChatRequest,
} from "../../core/chat/chat-request.ts";
import type { SealedCall } from "./collect-seals.ts";

type FindCall = (callId: string) => SealedCall | undefined;

/** Adds the missing seals of the request's calls. Returns the same object when none is known. */
export function restoreSeals(request: ChatRequest, find: FindCall): ChatRequest {
  let isChanged = false;
  // A client that carries sealed reasoning may split one turn into several messages.
  let isTurnSealed = false;
  const messages = request.messages.map((message): ChatMessage => {
    if (message.role !== "assistant") {
      isTurnSealed = false;
      return message;
    }
    isTurnSealed ||= message.content.some(isSealedReasoning);
    const restored = restoreMessage(message, find, isTurnSealed);
    isChanged ||= restored !== message;
    return restored;
  });
  return isChanged ? { ...request, messages } : request;
}

function restoreMessage(
  message: AssistantMessage,
  find: FindCall,
  isTurnSealed: boolean,
): AssistantMessage {
  let isChanged = false;
  const content = message.content.flatMap((part): readonly AssistantPart[] => {
    const known = part.type === "tool-call" ? find(part.callId) : undefined;
    if (part.type !== "tool-call" || known === undefined) return [part];
    const reasoning = isTurnSealed ? [] : known.reasoning;
    const lacksSeal = part.signature === undefined && known.signature !== undefined;
    isChanged ||= lacksSeal || reasoning.length > 0;
    return [...reasoning, lacksSeal ? { ...part, signature: known.signature } : part];
  });
  return isChanged ? { ...message, content: withThoughtsFirst(content) } : message;
}

/** Moves sealed reasoning to the start of a turn, as vendors require. Reasoning between calls stays there. */
function withThoughtsFirst(content: readonly AssistantPart[]): readonly AssistantPart[] {
  if (!content.some(isSealedReasoning)) return content;
  const firstCall = content.findIndex(({ type }) => type === "tool-call");
  const before = content.slice(0, firstCall);
  return [
    ...before.filter(isSealedReasoning),
    // The sealed reasoning contains what the client repeats of it.
    ...before.filter(({ type }) => type !== "reasoning"),
    ...content.slice(firstCall),
  ];
}

function isSealedReasoning(part: AssistantPart): boolean {
  return part.type === "reasoning" && Boolean(part.signature || part.redacted);
}
