import { useState } from "react";
import { loadChat } from "../../api/queries/chats.ts";
import type { ChatDocument } from "../../chat/chat-document.ts";
import type { LiveChat } from "../../chat/live-chat.ts";
import { mergeDocuments } from "../../chat/merge-documents.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import type { Keeping } from "./keeping.ts";

interface KeepingNoticeProps {
  readonly keeping: Keeping;
  readonly hasMessages: boolean;
  /** An answer is being written. */
  readonly isAnswering: boolean;
  readonly id: string | undefined;
  /** What this tab has. */
  readonly chat: LiveChat;
  /** No chats are kept here at all. */
  readonly isKeepingOff: boolean;
  /** Saves this tab's chat over the revision that is stored now. */
  readonly onKeepThis: (revision: number) => void;
  /** Keeps a temporary chat after all, tries again, or keeps a chat that was deleted as a new one. */
  readonly onKeep: () => void;
}

/** Says where a chat stands when that is not simply "kept". */
export function KeepingNotice(props: KeepingNoticeProps) {
  const { keeping, hasMessages, isKeepingOff, onKeep } = props;
  if (!hasMessages) return null;
  if (keeping.state === "temporary") {
    return (
      <div className="flex flex-wrap items-center gap-2 pb-2 text-sm text-muted">
        This chat is temporary: it is gone with this tab.
        {!isKeepingOff && (
          <Button look="quiet" onClick={onKeep}>
            Keep this chat
          </Button>
        )}
      </div>
    );
  }
  if (keeping.state === "failed") {
    return (
      <div className="pb-2">
        <ErrorCard what="The chat could not be saved" error={keeping.error} onRetry={onKeep} />
      </div>
    );
  }
  if (keeping.state === "gone") {
    return (
      <div className="pb-2">
        <ErrorCard
          what="The chat was deleted elsewhere. Retry keeps it as a new chat"
          error={keeping.error}
          onRetry={onKeep}
        />
      </div>
    );
  }
  return keeping.state === "conflict" ? <Conflict {...props} /> : null;
}

function Conflict({ id, chat, isAnswering, onKeepThis }: KeepingNoticeProps) {
  const [error, setError] = useState<unknown>();
  // The answer goes into its own message, which another document may not have, or have as another one.
  const reason = isAnswering ? "An answer is being written" : undefined;
  const decide = async (use: "both" | "other") => {
    try {
      const stored = await loadChat(id ?? "");
      if (chat.state().answering !== null) return;
      const other = stored.document as unknown as ChatDocument;
      chat.change((own) => (use === "other" ? other : mergeDocuments(other, own)));
      onKeepThis(stored.revision);
    } catch (thrown) {
      setError(thrown);
    }
  };
  return (
    <div role="alert" className="mb-2 grid gap-2 rounded-lg border border-warn bg-warn-soft p-3">
      <p>
        Another tab has changed this chat meanwhile. Nothing of either is lost until you choose.
      </p>
      <div className="flex flex-wrap gap-2">
        <Button look="primary" disabledReason={reason} onClick={() => void decide("both")}>
          Keep both, as branches
        </Button>
        <Button disabledReason={reason} onClick={() => void decide("other")}>
          Drop what this tab has
        </Button>
      </div>
      {error !== undefined && <ErrorCard what="The chat could not be read" error={error} />}
    </div>
  );
}
