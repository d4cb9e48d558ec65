import { type ReactNode, useEffect, useRef, useState } from "react";
import type { ChatList } from "../../api/queries/chats.ts";
import { useModels } from "../../api/queries/models.ts";
import { branchOf, type ChatDocument } from "../../chat/chat-document.ts";
import { formatExact } from "../../lib/count.ts";
import { Composer } from "../../parts/conversation/composer.tsx";
import { useFollowEnd } from "../../ui/drawing/use-follow-end.ts";
import { UnsavedGuard } from "../../ui/forms/unsaved-guard.tsx";
import { useSpokenStatus } from "../../ui/status/use-spoken-status.ts";
import { useKeys } from "../../ui/use-keys.ts";
import { ChatHead } from "./chat-head.tsx";
import type { Keeping } from "./keeping.ts";
import { KeepingNotice } from "./keeping-notice.tsx";
import { MessageList } from "./message-list.tsx";
import { TemporarySwitch } from "./temporary-switch.tsx";
import { useChat } from "./use-chat.ts";

const UNSAVED: ReadonlySet<Keeping["state"]> = new Set(["failed", "conflict", "gone"]);

export const UNSAVED_WHAT = "The messages of this chat that could not be saved";

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
  /** Told whether leaving it loses something. */
  readonly onUnsaved: (isUnsaved: boolean) => void;
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
  onUnsaved,
  aside,
}: ConversationProps) {
  const [isTemporary, setTemporary] = useState(false);
  const [draft, setDraft] = useState("");
  const [editing, setEditing] = useState<string | null>(null);
  const models = useModels();
  const use = useChat({ opened, model: firstModel, isTemporary, list, onKept });
  const { chat, document, answering, keeping, keptId } = use;
  const branch = branchOf(document);
  const model = models.data?.find(({ id }) => id === document.model);
  const title = list?.data.find(({ id }) => id === keptId)?.title ?? opened?.title;
  const isNew = opened === undefined && branch.length === 0 && list?.limit !== 0;
  const { place, isAtEnd, goToEnd } = useFollowEnd();
  const status = useSpokenStatus(answering !== null);
  const last = branch.filter(({ role }) => role === "user").at(-1);
  const composer = useRef<HTMLDivElement>(null);

  const isUnsaved = UNSAVED.has(keeping.state);

  useEffect(() => composer.current?.querySelector("textarea")?.focus(), []);
  useEffect(() => {
    onUnsaved(isUnsaved);
    return () => onUnsaved(false);
  }, [onUnsaved, isUnsaved]);
  useKeys([
    { keys: "mod+shift+o", label: "Begin a new chat", run: onNew },
    {
      keys: "mod+shift+j",
      label: "Make the new chat temporary",
      run: () => {
        if (isNew) setTemporary((is) => !is);
      },
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
        chat={chat}
        document={document}
        title={title ?? ""}
        onSet={use.saveSettings}
        before={aside}
      >
        {isNew && <TemporarySwitch isOn={isTemporary} onChange={setTemporary} />}
      </ChatHead>
      <div ref={place} className="min-h-0 flex-1 overflow-y-auto px-4">
        <MessageList use={use} models={models.data} editing={editing} onEditing={setEditing} />
      </div>
      <p role="status" className="sr-only">
        {status}
      </p>
      <div ref={composer} className="mx-auto w-full max-w-3xl px-4 pb-4">
        <KeepingNotice
          keeping={keeping}
          hasMessages={branch.length > 0}
          isAnswering={answering !== null}
          onKeepThis={use.keepThis}
          isKeepingOff={list?.limit === 0}
          onKeep={() => {
            setTemporary(false);
            use.keep();
          }}
          id={keptId}
          chat={chat}
        />
        <UnsavedGuard
          isUnsaved={isUnsaved}
          what={UNSAVED_WHAT}
          isUnderWay={answering !== null || keeping.state === "saving"}
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
          onEditLast={() => answering === null && setEditing(last?.id ?? null)}
        >
          <Room branch={branch} context={model?.context ?? null} leaves={model?.leaves} />
        </Composer>
      </div>
    </>
  );
}

interface RoomProps {
  readonly branch: ReturnType<typeof branchOf>;
  readonly context: number | null;
  readonly leaves: string | undefined;
}

/** Where the words go, and how much of the model's context the last answer took. */
function Room({ branch, context, leaves }: RoomProps) {
  const usage = branch.findLast((message) => message.usage !== undefined)?.usage;
  const used = usage && formatExact(usage.input_tokens + usage.output_tokens);
  const parts = [
    leaves === undefined ? undefined : `Goes to ${leaves}`,
    used === undefined || context === null
      ? undefined
      : `${used} of ${formatExact(context)} tokens`,
  ];
  return parts.filter((part) => part !== undefined).join(" · ");
}
