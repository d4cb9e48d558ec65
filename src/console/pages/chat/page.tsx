import { useNavigate, useParams } from "@tanstack/react-router";
import { History as HistoryIcon } from "lucide-react";
import { useCallback, useRef, useState } from "react";
import { useChats, useKeptChat } from "../../api/queries/chats.ts";
import { useModels } from "../../api/queries/models.ts";
import type { ChatDocument } from "../../chat/chat-document.ts";
import type { UrlState } from "../../lib/url-state.ts";
import { IconButton } from "../../ui/buttons/icon-button.tsx";
import { LeaveDialog } from "../../ui/forms/unsaved-guard.tsx";
import { useUrlState } from "../../ui/navigation/use-url-state.ts";
import { Dialog } from "../../ui/overlays/dialog.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import { useMedia } from "../../ui/use-media.ts";
import { Conversation, UNSAVED_WHAT } from "./conversation.tsx";
import { History } from "./history.tsx";
import { useChatPlace } from "./use-chat-place.ts";

const NARROW = "(max-width: 899.98px)";
const NEW_PLACE = { to: "/chat", search: (now: UrlState) => now };
/** What another page may ask of a new chat. */
const NEW_CHAT = { model: "" };

/** Chats with models and assistants: the history, and one of them or a new one. */
export function Page() {
  // A chat is no panel: each is a place of its own, and Back leads to the one before.
  const { row: openId } = useParams({ strict: false }) as { readonly row?: string };
  const navigate = useNavigate();
  const isNarrow = useMedia(NARROW);
  const [isHistoryOpen, setHistoryOpen] = useState(false);
  const { place, begin, nameIt } = useChatPlace(openId);
  const isUnsaved = useRef(false);
  const noteUnsaved = useCallback((is: boolean) => {
    isUnsaved.current = is;
  }, []);
  const [isAsking, setAsking] = useState(false);
  // With an address of its own, a chat is left by navigation, which asks by itself.
  const leave = () => (openId === undefined ? begin() : void navigate(NEW_PLACE));
  const startNew = () => {
    setHistoryOpen(false);
    if (openId === undefined && isUnsaved.current) setAsking(true);
    else leave();
  };
  const onKept = (id: string) => {
    nameIt(id);
    // The new chat has its address from now on; Back does not lead to the one without.
    const to = `/chat/${encodeURIComponent(id)}`;
    void navigate({ to, search: (now: UrlState) => now, replace: true });
  };
  const history = (
    <History openId={openId} onNew={startNew} onChosen={() => setHistoryOpen(false)} />
  );
  const historyButton = isNarrow && (
    <IconButton
      icon={HistoryIcon}
      label="Show earlier chats"
      onClick={() => setHistoryOpen(true)}
    />
  );
  const shared: PlaceProps = {
    ...{ onKept, onNew: startNew, onUnsaved: noteUnsaved },
    aside: historyButton,
  };
  return (
    <div className="-m-4 flex h-[calc(100dvh-3rem)] min-h-[26rem] md:-m-6 md:h-dvh">
      {!isNarrow && <div className="w-3xs shrink-0 border-e border-line bg-surface">{history}</div>}
      {isNarrow && (
        <Dialog isOpen={isHistoryOpen} onClose={() => setHistoryOpen(false)} title="Earlier chats">
          {history}
        </Dialog>
      )}
      <div className="flex min-h-0 min-w-0 flex-1 flex-col">
        {place.opened === undefined ? (
          <New key={place.number} {...shared} />
        ) : (
          <Kept key={place.number} id={place.opened} {...shared} />
        )}
      </div>
      <LeaveDialog
        isOpen={isAsking}
        what={UNSAVED_WHAT}
        onStay={() => setAsking(false)}
        onLeave={() => {
          setAsking(false);
          leave();
        }}
      />
    </div>
  );
}

interface PlaceProps {
  /** Called when the chat is kept for the first time, or anew after it was deleted. */
  readonly onKept: (id: string) => void;
  readonly onNew: () => void;
  readonly onUnsaved: (isUnsaved: boolean) => void;
  readonly aside: React.ReactNode;
}

function New(place: PlaceProps) {
  const models = useModels();
  const [asked] = useUrlState(NEW_CHAT);
  const { data: list } = useChats("");
  // Parts of the chat ask again after a failure: it stays while they do, or it would come and go with each try.
  if (models.isPending && !models.isFetchedAfterMount)
    return <Waiting label="Models are loading" />;
  return (
    <Conversation
      {...place}
      opened={undefined}
      firstModel={asked.model || (models.data?.[0]?.id ?? "")}
      list={list}
    />
  );
}

function Kept({ id, ...place }: PlaceProps & { readonly id: string }) {
  const { data: list } = useChats("");
  const { data, error, refetch } = useKeptChat(id);
  if (error !== null) {
    return (
      <div className="p-4">
        <ErrorCard
          what="The chat could not be opened"
          error={error}
          onRetry={() => void refetch()}
        />
      </div>
    );
  }
  if (data === undefined) return <Waiting label="The chat is loading" />;
  const document = data.document as unknown as ChatDocument;
  return (
    <Conversation
      {...place}
      opened={{ id, revision: data.revision, document, title: data.title ?? "" }}
      firstModel={document.model}
      list={list}
    />
  );
}

function Waiting({ label }: { readonly label: string }) {
  return (
    <div className="p-4">
      <Skeleton shape="block" label={label} />
    </div>
  );
}
