import { type ComponentProps, useEffect, useMemo, useState } from "react";
import { flushSync } from "react-dom";
import type { Model } from "../../api/queries/models.ts";
import { type BranchMessage, branchOf, type ChatMessage } from "../../chat/chat-document.ts";
import { sentPart } from "../../chat/chat-request.ts";
import { BlockedReason, Message, type MessageActions } from "../../parts/conversation/message.tsx";
import { useGrowing } from "../../ui/drawing/use-growing.ts";
import type { ChatUse } from "./use-chat.ts";

interface MessageListProps {
  readonly use: ChatUse;
  readonly models: readonly Model[] | undefined;
  /** The question whose editor is open. */
  readonly editing: string | null;
  readonly onEditing: (id: string | null) => void;
}

/** Characters of messages that are drawn at once. A long chat grows from its end, where it is read first. */
const DRAWN_AT_ONCE = 32 * 1024;
/** A message itself begins with less than this. */
const MOST_OF_ONE = 16 * 1024;
const GROWING = { weightOf: weightOfMessage, most: DRAWN_AT_ONCE };

/** The branch in view, with a line where what a turn sends begins. It is not drawn while an answer grows. */
export function MessageList({ use, models, editing, onEditing }: MessageListProps) {
  const { chat, save, document, answering } = use;
  const branch = branchOf(document);
  const drawn = useGrowing([...branch].reverse(), GROWING);
  const shown = branch.slice(branch.length - drawn);
  const firstSent = sentPart(branch)[0]?.id;
  const blockedReason = blockOf(document.model, answering);
  const actions = useMemo(
    (): MessageActions => ({
      onShow(id) {
        chat.show(id);
        save(chat.state().document);
      },
      onRetry: (id) => void chat.retry(id),
      onEdit({ id, parts }, text) {
        const others = parts.filter(({ type }) => type !== "text");
        void chat.edit(id, [...others, { type: "text", text }]);
      },
      onEditing,
    }),
    [chat, save, onEditing],
  );
  return (
    <div
      aria-busy={shown.length < branch.length || undefined}
      className="mx-auto max-w-3xl divide-y divide-line"
    >
      {branch.length === 0 && (
        <p className="py-12 text-center text-muted">
          {document.model === "" ? "No model answers here yet." : "Ask something."}
        </p>
      )}
      <BlockedReason value={blockedReason}>
        {shown.map((message) => (
          <div key={message.id}>
            {message.id === firstSent && message.parent !== null && (
              <p className="pt-3 text-center text-sm text-muted">
                Older messages are no longer sent
              </p>
            )}
            <LiveMessage
              chat={chat}
              message={message}
              name={nameOf(message.model ?? document.model, models)}
              isAnswering={message.id === answering}
              isEditing={message.id === editing}
              {...actions}
            />
          </div>
        ))}
      </BlockedReason>
    </div>
  );
}

type LiveMessageProps = ComponentProps<typeof Message> & Pick<ChatUse, "chat">;

/** A message; as long as it is the answer that is being written, nothing else of the page is drawn with it. */
function LiveMessage({ chat, ...shown }: LiveMessageProps) {
  const { message, isAnswering } = shown;
  const { id } = message;
  const [grown, setGrown] = useState<ChatMessage>();
  useEffect(() => {
    if (!isAnswering) return;
    // `useSyncExternalStore` would bring an effect to run with each drawing, a tenth of what that takes.
    return chat.subscribe(() => flushSync(() => setGrown(chat.state().document.messages[id])));
  }, [chat, id, isAnswering]);
  return <Message {...shown} message={isAnswering ? { ...message, ...grown } : message} />;
}

function blockOf(model: string, answering: string | null): string | undefined {
  if (answering !== null) return "An answer is being written";
  return model === "" ? "Choose a model first" : undefined;
}

function nameOf(id: string, models: readonly Model[] = []): string {
  return models.find((model) => model.id === id)?.name ?? id;
}

function weightOfMessage({ parts }: BranchMessage): number {
  const lengths = parts.map((part) => ("text" in part ? part.text.length : 0));
  return Math.min(
    MOST_OF_ONE,
    lengths.reduce((sum, length) => sum + length, 0),
  );
}
