import { RotateCcw } from "lucide-react";
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { branchOf, emptyDocument } from "../../chat/chat-document.ts";
import { LiveChat } from "../../chat/live-chat.ts";
import { now } from "../../lib/clock.ts";
import { askModel } from "../../parts/conversation/ask-model.ts";
import { Composer } from "../../parts/conversation/composer.tsx";
import { BlockedReason, Message, type MessageActions } from "../../parts/conversation/message.tsx";
import { pacedFrames } from "../../parts/conversation/paced-frames.ts";
import { IconButton } from "../../ui/buttons/icon-button.tsx";
import { useFollowEnd } from "../../ui/drawing/use-follow-end.ts";
import { useSpokenStatus } from "../../ui/status/use-spoken-status.ts";
import { useKeys } from "../../ui/use-keys.ts";

interface TrialProps {
  /** Of the assistant. */
  readonly id: string;
  readonly name: string;
}

interface TrialChatProps extends TrialProps {
  readonly isUnsaved: boolean;
}

/** A chat with an assistant as it is saved. Nothing of it is stored. */
export function TrialChat({ isUnsaved, ...assistant }: TrialChatProps) {
  const [number, setNumber] = useState(0);
  return (
    <section
      aria-label="Trial"
      className="flex h-[calc(100dvh-9rem)] min-h-96 flex-col rounded-lg border border-line bg-surface"
    >
      <header className="flex items-center gap-2 border-b border-line px-4 py-1">
        <h2 className="text-base">Trial</h2>
        <p className="min-w-0 flex-1 text-sm text-muted">
          {isUnsaved ? "Answers as it was saved last" : "Nothing is stored"}
        </p>
        <IconButton
          icon={RotateCcw}
          label="Begin the trial again"
          onClick={() => setNumber(number + 1)}
        />
      </header>
      <Trial key={number} {...assistant} />
    </section>
  );
}

function Trial({ id, name }: TrialProps) {
  const [draft, setDraft] = useState("");
  const [editing, setEditing] = useState<string | null>(null);
  const chat = useMemo(
    () =>
      new LiveChat(emptyDocument(id), {
        ask: askModel,
        settled: () => undefined,
        nextFrame: pacedFrames(),
        now,
      }),
    [id],
  );
  // Leaving the page frees the engine.
  useEffect(() => () => chat.stop(), [chat]);
  const { document, answering } = useSyncExternalStore(chat.subscribe, chat.state);
  const branch = branchOf(document);
  const { place, goToEnd } = useFollowEnd();
  const status = useSpokenStatus(answering !== null);
  const isAnswering = answering !== null;
  const last = branch.filter(({ role }) => role === "user").at(-1);
  useKeys(
    isAnswering ? [{ keys: "Escape", label: "Stop the answer", run: () => chat.stop() }] : [],
  );
  const actions = useMemo(
    (): MessageActions => ({
      onShow: (shown) => chat.show(shown),
      onRetry: (answer) => void chat.retry(answer),
      onEdit(question, text) {
        const others = question.parts.filter(({ type }) => type !== "text");
        void chat.edit(question.id, [...others, { type: "text", text }]);
      },
      onEditing: setEditing,
    }),
    [chat],
  );
  return (
    <>
      <div ref={place} className="min-h-0 flex-1 overflow-y-auto px-4">
        <div className="divide-y divide-line">
          {branch.length === 0 && (
            <p className="py-12 text-center text-muted">Ask it something that it has to know.</p>
          )}
          <BlockedReason value={isAnswering ? "An answer is being written" : undefined}>
            {branch.map((message) => (
              <Message
                key={message.id}
                message={message}
                name={name}
                isAnswering={message.id === answering}
                isEditing={message.id === editing}
                {...actions}
              />
            ))}
          </BlockedReason>
        </div>
      </div>
      <p role="status" className="sr-only">
        {status}
      </p>
      <div className="p-2">
        <Composer
          draft={draft}
          onDraft={setDraft}
          isAnswering={isAnswering}
          blockedReason={undefined}
          onSend={(parts) => {
            goToEnd();
            void chat.send(parts);
          }}
          onStop={() => chat.stop()}
          onEditLast={() => !isAnswering && setEditing(last?.id ?? null)}
        />
      </div>
    </>
  );
}
