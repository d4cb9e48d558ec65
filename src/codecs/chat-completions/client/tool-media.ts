import type {
  ChatMessage,
  DocumentPart,
  ImagePart,
  TextPart,
  ToolMessage,
  UserPart,
} from "../../../core/chat/chat-request.ts";

type Media = ImagePart | DocumentPart;

/**
 * Returns the messages with only text in tool results. Images and documents follow in a user message that names their
 * call. It comes after the last result of the batch, because no message may come between results.
 */
export function moveToolMedia(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  if (!messages.some(hasMedia)) return messages;
  const moved: ChatMessage[] = [];
  let waiting: UserPart[] = [];
  const release = () => {
    if (waiting.length > 0) moved.push({ role: "user", content: waiting });
    waiting = [];
  };
  for (const message of messages) {
    if (message.role !== "tool") release();
    if (!hasMedia(message)) {
      moved.push(message);
      continue;
    }
    moved.push({ ...message, content: textsOf(message) });
    const about = `This belongs to the result of the tool call ${message.callId}:`;
    waiting.push({ type: "text", text: about }, ...message.content.filter(isMedia));
  }
  release();
  return moved;
}

function hasMedia(message: ChatMessage): message is ToolMessage {
  return message.role === "tool" && message.content.some(isMedia);
}

function textsOf({ content }: ToolMessage): TextPart[] {
  const texts = content.filter((part) => part.type === "text");
  if (texts.length > 0) return texts;
  return [{ type: "text", text: "The result follows in the next message." }];
}

function isMedia(part: ToolMessage["content"][number]): part is Media {
  return part.type !== "text";
}
