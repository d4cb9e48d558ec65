import { type ReactNode, useEffect, useRef, useState } from "react";
import type { ChatList } from "../../api/queries/chats.ts";
import { useModels } from "../../api/queries/models.ts";
import { branchOf, type ChatDocument, textOf } from "../../chat/chat-document.ts";
import { sentPart } from "../../chat/chat-request.ts";
import { Composer } from "../../parts/composer.tsx";
import { Message } from "../../parts/message.tsx";
import { Switch } from "../../ui/switch.tsx";
import { useFollowEnd } from "../../ui/use-follow-end.ts";
import { useKeys } from "../../ui/use-keys.ts";
import { useSpokenStatus } from "../../ui/use-spoken-status.ts";
import { ChatHead } from "./chat-head.tsx";
import { KeepingNotice } from "./keeping-notice.tsx";
import { useChat } from "./use-chat.ts";

interface ConversationProps {
  readonly opened:
    | {
        readonly id: string;
        readonly revision: number;
        readonly title: string;
        readonly document: ChatDocument;
      }
    | undefined;
  readonly firstModel: string;
  readonly list: ChatList | undefined;
  readonly onKept: (id: string) => void;
  readonly onNew: () => void;
  /** The button that opens the history on small screens. */
  readonly aside: ReactNode;
}

/** One chat: its head, its messages, and where the next one is written. */
export function Conversation({
  opened,
  firstModel,
  list,
  onKept,
  onNew,
  aside,
}: ConversationProps) {
  const [isTemporary, setTemporary] = useState(false);
  const [draft, setDraft] = useState("");
  const models = useModels();
  const use = useChat({ opened, model: firstModel, isTemporary, list, onKept });
  const { chat, document, answering, keeping } = use;
  const branch = branchOf(document);
  const model = models.data?.find(({ id }) => id === document.model);
  const blockedReason = blockOf(document.model, answering);
  const firstSent = sentPart(branch)[0]?.id;
  const { place, isAtEnd, goToEnd } = useFollowEnd(document);
  const status = useSpokenStatus(answering !== null);
  const last = branch.filter(({ role }) => role === "user").at(-1);
  const composer = useRef<HTMLDivElement>(null);

  useEffect(() => composer.current?.querySelector("textarea")?.focus(), []);
  useKeys([
    { keys: "mod+shift+o", label: "Begin a new chat", run: onNew },
    {
      keys: "mod+shift+j",
      label: "Make the new chat temporary",
      run: () => setTemporary((is) => !is),
    },
    { keys: "Escape", label: "Stop the answer", run: () => chat.stop() },
  ]);
  const send: typeof chat.send = (parts) => {
    goToEnd();
    return chat.send(parts);
  };

  return (
    <>
      <ChatHead
        document={document}
        title={opened?.title ?? ""}
        onChange={(changed) => chat.change(changed)}
        before={aside}
      >
        {opened === undefined && branch.length === 0 && list?.limit !== 0 && (
          <Switch name="temporary" label="Temporary" isOn={isTemporary} onChange={setTemporary} />
        )}
      </ChatHead>
      <div ref={place} className="min-h-0 flex-1 overflow-y-auto px-4">
        <div className="mx-auto max-w-3xl divide-y divide-line">
          {branch.length === 0 && (
            <p className="py-12 text-center text-muted">
              {document.model === "" ? "No model answers here yet." : "Ask something."}
            </p>
          )}
          {branch.map((message, index) => (
            <div key={message.id}>
              {index > 0 && message.id === firstSent && (
                <p className="pt-3 text-center text-sm text-muted">
                  Older messages are no longer sent
                </p>
              )}
              <Message
                message={message}
                name={nameOf(message.model ?? document.model, models.data)}
                isAnswering={message.id === answering}
                blockedReason={blockedReason}
                onShow={(id) => {
                  chat.show(id);
                  use.save(chat.state().document);
                }}
                onRetry={(id) => void chat.retry(id)}
                onEdit={(id, text) => {
                  const others = message.parts.filter(({ type }) => type !== "text");
                  void chat.edit(id, [...others, { type: "text", text }]);
                }}
              />
            </div>
          ))}
        </div>
      </div>
      <p role="status" className="sr-only">
        {status}
      </p>
      <div ref={composer} className="mx-auto w-full max-w-3xl px-4 pb-4">
        <KeepingNotice
          keeping={keeping}
          hasMessages={branch.length > 0}
          onKeepThis={use.keepThis}
          onKeep={() => {
            setTemporary(false);
            use.save(document);
          }}
          id={opened?.id}
          onTake={(taken) => chat.change(taken)}
        />
        {!isAtEnd && (
          <button type="button" className="mb-2 w-full text-sm text-accent" onClick={goToEnd}>
            Go to the end
          </button>
        )}
        <Composer
          draft={draft}
          onDraft={setDraft}
          isAnswering={answering !== null}
          blockedReason={document.model === "" ? "Choose a model first" : undefined}
          onSend={(parts) => void send(parts)}
          onStop={() => chat.stop()}
          onEditLast={() => last !== undefined && setDraft(textOf(last))}
        >
          {model?.leaves !== undefined && `Goes to ${model.leaves}`}
        </Composer>
      </div>
    </>
  );
}

function blockOf(model: string, answering: string | null): string | undefined {
  if (answering !== null) return "An answer is being written";
  return model === "" ? "Choose a model first" : undefined;
}

function nameOf(
  id: string,
  models: readonly { readonly id: string; readonly name: string }[] = [],
) {
  return models.find((model) => model.id === id)?.name ?? id;
}
