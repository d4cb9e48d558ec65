import { ChevronLeft, ChevronRight, type LucideIcon, Pencil, RotateCcw } from "lucide-react";
import { createContext, memo, useContext, useState } from "react";
import { type BranchMessage, isSameMessage, textOf } from "../../chat/chat-document.ts";
import { now } from "../../lib/clock.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { CopyButton, CopyRequestId } from "../../ui/buttons/copy-button.tsx";
import { IconButton } from "../../ui/buttons/icon-button.tsx";
import { useInTurn } from "../../ui/drawing/use-in-turn.ts";
import { Count, Duration } from "../../ui/text/count.tsx";
import { Time } from "../../ui/text/time.tsx";
import { MessagePartView } from "./message-part.tsx";

/** What happens to a message. The functions stay the same ones: a message is drawn again only when it changes. */
export interface MessageActions {
  readonly onShow: (id: string) => void;
  readonly onRetry: (id: string) => void;
  readonly onEdit: (message: BranchMessage, text: string) => void;
  /** Opens the editor of a question; null closes it. */
  readonly onEditing: (id: string | null) => void;
}

/**
 * Why no question can be asked now, for the messages below it. It changes with the begin and the end of each answer, and
 * then the buttons that ask are drawn again, not the messages of a long chat.
 */
export const BlockedReason = createContext<string | undefined>(undefined);

interface MessageProps extends MessageActions {
  readonly message: BranchMessage;
  /** What the model is called in the head of its answer. */
  readonly name: string;
  readonly isAnswering: boolean;
  readonly isEditing: boolean;
}

/** One question or answer, with what was thought, run and found for it. */
export const Message = memo(function Message(props: MessageProps) {
  const { message, name, isAnswering, onRetry, isEditing, onEditing } = props;
  const isQuestion = message.role === "user";
  const head = isQuestion ? "You" : name;
  return (
    <article
      aria-label={`${head}, ${isQuestion ? "question" : "answer"}`}
      className="grid gap-2 py-4"
    >
      <header className="flex flex-wrap items-center gap-2">
        <h2 className="min-w-0 break-words">{head}</h2>
        {!isQuestion && message.model !== undefined && message.model !== name && (
          <span className="text-sm text-muted">{message.model}</span>
        )}
        <span className="text-sm text-muted">
          <Time value={message.at} />
        </span>
        <span className="ml-auto flex items-center">
          <Siblings message={message} onShow={props.onShow} />
          {isQuestion && (
            <AskButton
              icon={Pencil}
              label="Edit the question"
              onClick={() => onEditing(message.id)}
            />
          )}
        </span>
      </header>
      {isEditing ? (
        <Editor
          text={textOf(message)}
          onCancel={() => onEditing(null)}
          onSend={(text) => {
            onEditing(null);
            props.onEdit(message, text);
          }}
        />
      ) : (
        message.parts.map((part, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a part is its place
          <MessagePartView key={index} part={part} isQuestion={isQuestion} />
        ))
      )}
      {isAnswering && message.parts.length === 0 && (
        <p className="text-muted">Waiting for the model…</p>
      )}
      {!(isAnswering || isQuestion) && <AnswerEnd message={message} onRetry={onRetry} />}
    </article>
  );
}, isSame);

function isSame({ message, ...before }: MessageProps, { message: next, ...now }: MessageProps) {
  const names = Object.keys(now) as (keyof typeof now)[];
  return isSameMessage(message, next) && names.every((name) => before[name] === now[name]);
}

interface AskButtonProps {
  readonly icon: LucideIcon;
  readonly label: string;
  readonly onClick: () => void;
}

/** A long chat has a hundred of these: what a new reason costs is spread over many turns. */
function AskButton(props: AskButtonProps) {
  return <SteadyButton {...props} disabledReason={useInTurn(useContext(BlockedReason))} />;
}

const SteadyButton = memo(IconButton);

function RetryButton({ onClick }: Pick<AskButtonProps, "onClick">) {
  return (
    <Button disabledReason={useContext(BlockedReason)} onClick={onClick}>
      Retry
    </Button>
  );
}

function AnswerEnd({ message, onRetry }: Pick<MessageProps, "message" | "onRetry">) {
  const { usage, request_id: requestId, error, state } = message;
  const waitMs = (error?.retry_at ?? 0) - now();
  const seconds = ((usage?.total_ms ?? 0) - (usage?.first_ms ?? 0)) / 1000;
  return (
    <>
      {error !== undefined && state !== "failed" && (
        <p className="text-sm text-warn">{error.message}</p>
      )}
      {error !== undefined && state === "failed" && (
        <div role="alert" className="grid gap-2 rounded-lg border border-bad bg-bad-soft p-3">
          <p className="font-medium text-bad">
            {message.parts.length === 0 ? "No answer came" : "The answer was cut"}
          </p>
          <p className="break-words">{error.message}</p>
          {waitMs > 0 && <p>It can be tried again in {Math.ceil(waitMs / 1000)} s.</p>}
          <p className="font-mono text-sm text-muted">{error.code}</p>
          <div>
            <RetryButton onClick={() => onRetry(message.id)} />
          </div>
        </div>
      )}
      {state === "stopped" && <p className="text-sm text-muted">Stopped before its end</p>}
      <footer className="flex items-center gap-x-2 text-sm text-muted">
        {usage !== undefined && (
          <span className="min-w-0">
            <Count value={usage.input_tokens + usage.output_tokens} /> tokens
            {seconds > 0 && <> · {Math.round(usage.output_tokens / seconds)}/s</>}
            {usage.first_ms !== undefined && (
              <>
                {" · "}
                <span className="whitespace-nowrap">
                  first <Duration value={usage.first_ms} />
                </span>
              </>
            )}
          </span>
        )}
        {requestId !== undefined && (
          // Small screens have room for the button that copies it.
          <code className="min-w-0 font-mono break-all max-sm:hidden">{requestId}</code>
        )}
        <span className="flex shrink-0 items-center max-sm:ml-auto">
          {requestId !== undefined && <CopyRequestId id={requestId} />}
          <AskButton
            icon={RotateCcw}
            label="Ask for another answer"
            onClick={() => onRetry(message.id)}
          />
          <CopyButton text={textOf(message)} label="Copy the answer" />
        </span>
      </footer>
    </>
  );
}

function Siblings({ message, onShow }: Pick<MessageProps, "message" | "onShow">) {
  const { siblings, id } = message;
  const place = siblings.indexOf(id);
  if (siblings.length < 2) return null;
  const step = (by: number) => {
    const to = siblings[place + by];
    if (to !== undefined) onShow(to);
  };
  const none = (by: number) =>
    siblings[place + by] === undefined ? "There is no other here" : undefined;
  return (
    <span className="flex items-center text-sm text-muted">
      <IconButton
        icon={ChevronLeft}
        label="Show the version before"
        disabledReason={none(-1)}
        onClick={() => step(-1)}
      />
      {place + 1}/{siblings.length}
      <IconButton
        icon={ChevronRight}
        label="Show the version after"
        disabledReason={none(1)}
        onClick={() => step(1)}
      />
    </span>
  );
}

interface EditorProps {
  readonly text: string;
  readonly onCancel: () => void;
  readonly onSend: (text: string) => void;
}

function Editor({ text, onCancel, onSend }: EditorProps) {
  const [draft, setDraft] = useState(text);
  // Sent while an answer is written, the text would be lost.
  const blockedReason = useContext(BlockedReason);
  const unsentReason = draft.trim() === "" ? "The question is empty" : blockedReason;
  return (
    <div className="grid gap-2">
      <textarea
        // biome-ignore lint/a11y/noAutofocus: the person has just asked to edit it
        autoFocus
        aria-label="The question"
        rows={4}
        value={draft}
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") {
            event.preventDefault();
            onCancel();
          }
          const hasCommand = event.metaKey || event.ctrlKey;
          if (event.key === "Enter" && hasCommand && unsentReason === undefined) onSend(draft);
        }}
        className="control w-full py-2"
      />
      <div className="flex justify-end gap-2">
        <Button onClick={onCancel}>Keep it as it was</Button>
        <Button look="primary" disabledReason={unsentReason} onClick={() => onSend(draft)}>
          Ask again
        </Button>
      </div>
    </div>
  );
}
