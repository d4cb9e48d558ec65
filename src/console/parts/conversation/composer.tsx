import { Paperclip, Send, Square, X } from "lucide-react";
import {
  type ClipboardEvent,
  type Dispatch,
  type KeyboardEvent,
  type ReactNode,
  type SetStateAction,
  useRef,
} from "react";
import type { MessagePart } from "../../chat/chat-document.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { IconButton } from "../../ui/buttons/icon-button.tsx";
import { usePreferences } from "../../ui/preferences.ts";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { useAttachments } from "./attachments.ts";
import { Microphone } from "./microphone.tsx";

interface ComposerProps {
  readonly draft: string;
  /** Sets the draft, or changes the one of then. */
  readonly onDraft: Dispatch<SetStateAction<string>>;
  readonly isAnswering: boolean;
  /** Why nothing can be sent: no model is chosen. */
  readonly blockedReason: string | undefined;
  readonly onSend: (parts: readonly MessagePart[]) => void;
  readonly onStop: () => void;
  readonly onEditLast: () => void;
  /** Where the words go, and how many. */
  readonly children?: ReactNode;
}

/** Where a message is written. Enter sends it, or ⌘ Enter by the person's choice; never while a word is being composed. */
export function Composer(props: ComposerProps) {
  const { draft, onDraft, isAnswering, blockedReason, onSend, onStop, onEditLast } = props;
  const { enter } = usePreferences();
  const attached = useAttachments();
  const picker = useRef<HTMLInputElement>(null);
  const isEmpty = draft.trim() === "" && attached.parts.length === 0;
  const reading = attached.isReading ? "A file is still being read" : undefined;
  const reason = blockedReason ?? reading ?? (isEmpty ? "The message is empty" : undefined);

  const send = () => {
    if (reason !== undefined || isAnswering) return;
    const text = draft.trim() === "" ? [] : [{ type: "text" as const, text: draft }];
    onSend([...attached.parts, ...text]);
    attached.clear();
    onDraft("");
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing) return;
    const hasCommand = event.metaKey || event.ctrlKey;
    if (event.key === "Enter" && (hasCommand || (enter === "sends" && !event.shiftKey))) {
      event.preventDefault();
      send();
    } else if (event.key === "Escape" && isAnswering) {
      event.preventDefault();
      onStop();
    } else if (event.key === "ArrowUp" && draft === "") {
      event.preventDefault();
      onEditLast();
    }
  };
  const onPaste = (event: ClipboardEvent) => {
    const files = [...event.clipboardData.files];
    if (files.length === 0) return;
    event.preventDefault();
    void attached.add(files);
  };

  return (
    <div className="grid gap-2 rounded-lg border border-line bg-surface p-2">
      <Attached {...attached} />
      <textarea
        aria-label="Message"
        placeholder="Message"
        rows={Math.min(10, Math.max(2, draft.split("\n").length))}
        value={draft}
        onChange={(event) => onDraft(event.target.value)}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
        className="w-full resize-none bg-transparent px-1 py-1 outline-offset-4"
      />
      <div className="flex flex-wrap items-center gap-1">
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          onChange={(event) => {
            void attached.add([...(event.target.files ?? [])]);
            event.target.value = "";
          }}
        />
        <IconButton
          icon={Paperclip}
          label="Attach files"
          isBusy={attached.isReading}
          onClick={() => picker.current?.click()}
        />
        <Microphone onDraft={onDraft} onError={attached.setError} />
        <div className="min-w-0 flex-1 text-sm text-muted">{props.children}</div>
        {isAnswering ? (
          <Button look="primary" onClick={onStop}>
            <Square size={16} aria-hidden />
            Stop
          </Button>
        ) : (
          <Button look="primary" disabledReason={reason} onClick={send}>
            <Send size={16} aria-hidden />
            Send
          </Button>
        )}
      </div>
    </div>
  );
}

type Attachments = ReturnType<typeof useAttachments>;

function Attached({ parts, error, remove }: Pick<Attachments, "parts" | "error" | "remove">) {
  return (
    <>
      {error !== undefined && <ErrorCard what="It was not attached" error={error} />}
      {parts.length > 0 && (
        <ul className="flex flex-wrap gap-2">
          {parts.map((part, index) => {
            const name = ("name" in part && part.name) || part.type;
            return (
              <li
                // biome-ignore lint/suspicious/noArrayIndexKey: two files may have one name
                key={index}
                className="flex items-center rounded-md border border-line pl-2 text-sm"
              >
                <span className="max-w-[15rem] truncate">{name}</span>
                <IconButton icon={X} label={`Take away ${name}`} onClick={() => remove(part)} />
              </li>
            );
          })}
        </ul>
      )}
    </>
  );
}
