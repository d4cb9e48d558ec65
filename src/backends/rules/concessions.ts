import type { ClientCodec } from "../../codecs/codec.ts";
import { tellLaterSystem } from "../../codecs/shared/system-messages.ts";
import type { ChatRequest } from "../../core/chat/chat-request.ts";

/** A feature that some models refuse and a call can do without: it is removed and the call is retried. */
export interface Concession {
  readonly isCause: (message: string) => boolean;
  readonly concede: (request: ChatRequest) => ChatRequest;
  /** The codec for all later attempts, where the wire dialect must change. */
  readonly codec?: ClientCodec;
  /** It is about this call alone, whose client sent what the model refuses: calls of others go on with it. */
  readonly isOfThisCall?: true;
}

type IsCause = Concession["isCause"];

/** Removes the effort, for models not known to refuse efforts, or this one. */
export function withoutEffort(isCause: IsCause): Concession {
  return { isCause, concede: ({ effort: _effort, ...request }) => request };
}

/** Switches to another dialect of the format, because not every server accepts the same. */
export function inDialect(isCause: IsCause, codec: ClientCodec): Concession {
  return { isCause, concede: (request) => request, codec };
}

/** Tells system messages in the middle of a conversation as user text, because templates of some models refuse them. */
export const TELLING_SYSTEM: Concession = {
  isCause: isMisplacedSystem,
  concede: (request) => ({ ...request, messages: tellLaterSystem(request.messages) }),
};

/** True for what the templates of Qwen 3.5 and later say, in whatever words an engine wraps it. */
export function isMisplacedSystem(message: string): boolean {
  return /system message must be at the beginning/i.test(message);
}

/** Starts each turn with reasoning, for servers that require it back from clients that have not kept it. */
export function withThoughts(isCause: IsCause): Concession {
  return {
    isCause,
    concede: (request) => ({
      ...request,
      messages: request.messages.map((message) => {
        if (message.role !== "assistant") return message;
        if (message.content.some(({ type }) => type === "reasoning")) return message;
        return { ...message, content: [NO_THOUGHT, ...message.content] };
      }),
    }),
  };
}

/** Not empty, because empty text would not be sent. */
const NO_THOUGHT = { type: "reasoning", text: " " } as const;
