import { EllipsisVertical, Pin, PinOff, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { reasonOf } from "../../api/errors.ts";
import {
  type ChatList,
  type KeptChat,
  useChangeChat,
  useChats,
  useDeleteChat,
} from "../../api/queries/chats.ts";
import { now } from "../../lib/clock.ts";
import { countOf, wordFor } from "../../lib/count.ts";
import { IconButton } from "../../ui/buttons/icon-button.tsx";
import { classes } from "../../ui/classes.ts";
import { Link } from "../../ui/navigation/link.tsx";
import { ConfirmDialog } from "../../ui/overlays/confirm-dialog.tsx";
import { Menu } from "../../ui/overlays/menu.tsx";
import { showToast } from "../../ui/overlays/toast.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";

const DAY_MS = 86_400_000;

interface HistoryProps {
  readonly openId: string | undefined;
  readonly onNew: () => void;
  /** Called when a chat is chosen, also the open one. */
  readonly onChosen: () => void;
}

/** One's own chats: pinned, of today, of the last week, and older ones. */
export function History({ openId, onNew, onChosen }: HistoryProps) {
  const [search, setSearch] = useState("");
  const { data: list, error, refetch } = useChats(search);
  return (
    <nav aria-label="Chats" className="flex h-full min-h-0 flex-col gap-3 p-3">
      <div className="flex gap-2">
        <input
          type="search"
          aria-label="Search chats by title"
          placeholder="Search"
          value={search}
          onChange={(event) => setSearch(event.target.value)}
          className="control min-w-0 flex-1"
        />
        <IconButton icon={Plus} label="Begin a new chat" look="plain" onClick={onNew} />
      </div>
      {error !== null && (
        <ErrorCard what="Chats could not be loaded" error={error} onRetry={() => void refetch()} />
      )}
      <div className="min-h-0 flex-1 overflow-y-auto">
        {groupsOf(list?.data ?? []).map(({ title, chats }) => (
          <section key={title} aria-label={title} className="pb-3">
            <h2 className="px-2 py-1 text-sm text-muted">{title}</h2>
            <ul>
              {chats.map((chat) => (
                <Entry
                  key={chat.id}
                  chat={chat}
                  isOpen={chat.id === openId}
                  onChosen={onChosen}
                  onGone={onNew}
                />
              ))}
            </ul>
          </section>
        ))}
        {list?.data.length === 0 && (
          <p className="px-2 text-muted">
            {search === "" ? "No chats yet" : "No title has these words"}
          </p>
        )}
      </div>
      {list !== undefined && <Room list={list} />}
    </nav>
  );
}

/** How many chats are kept, and which one the next will replace. */
function Room({ list }: { readonly list: ChatList }) {
  if (list.limit === 0) return <p className="text-sm text-muted">Chats are not kept here</p>;
  const { kept, limit, pinned } = list;
  const [first, ...others] = list.next_replaced;
  const more = others.length === 0 ? "" : ` and ${countOf(others.length, "more chat")}`;
  const excess = pinned + 1 - limit;
  return (
    <p className="text-sm text-muted">
      {/* After the limit was lowered. */}
      {kept > limit ? `${kept} kept, ${limit} allowed` : `${kept} of ${limit} kept`}
      {first !== undefined && `. The next one replaces “${nameOf(first)}”${more}`}
      {!list.keeps_next &&
        `, ${pinned} of them pinned. The next one is temporary until ${excess} of these ${wordFor(excess, "is", "are")} unpinned or deleted`}
    </p>
  );
}

/** A chat has no title where nothing was typed in it, as when it began with a picture. */
function nameOf({ title }: Pick<KeptChat, "title">): string {
  return title === null ? "A chat that cannot be opened" : title || "A chat without words";
}

interface EntryProps extends Pick<HistoryProps, "onChosen"> {
  readonly chat: KeptChat;
  readonly isOpen: boolean;
  readonly onGone: () => void;
}

function Entry({ chat, isOpen, onChosen, onGone }: EntryProps) {
  const change = useChangeChat();
  const remove = useDeleteChat();
  const [isAsking, setAsking] = useState(false);
  const title = nameOf(chat);
  const pin = async () => {
    try {
      await change.mutateAsync({ id: chat.id, pinned: !chat.pinned });
    } catch (thrown) {
      const what = chat.pinned ? "The chat is still pinned" : "The chat is not pinned";
      showToast(`${what}: ${reasonOf(thrown)}`);
    }
  };
  return (
    <li className="flex items-center rounded-md hover:bg-sunken">
      <Link
        to={`/chat/${chat.id}`}
        isCurrent={isOpen}
        onChoose={onChosen}
        className={classes(
          "min-w-0 flex-1 truncate px-2 py-1.5",
          isOpen && "font-medium text-accent",
        )}
      >
        {title}
      </Link>
      <Menu
        trigger={<IconButton icon={EllipsisVertical} label={`Actions of ${title}`} />}
        items={[
          {
            label: chat.pinned ? "Unpin the chat" : "Pin the chat",
            icon: chat.pinned ? PinOff : Pin,
            run: () => void pin(),
          },
          { label: "Delete the chat…", icon: Trash2, isDanger: true, run: () => setAsking(true) },
        ]}
      />
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title="Delete this chat?"
        action="Delete the chat"
        onConfirm={async () => {
          await remove.mutateAsync(chat.id);
          showToast("The chat is deleted");
          if (isOpen) onGone();
        }}
      >
        “{title}” is gone for good, with all its branches.
      </ConfirmDialog>
    </li>
  );
}

function groupsOf(chats: readonly KeptChat[]) {
  const today = new Date(now()).setHours(0, 0, 0, 0);
  const nameOf = ({ pinned, updated_at: at }: KeptChat) => {
    if (pinned) return "Pinned";
    const time = Date.parse(at);
    if (time >= today) return "Today";
    return time >= today - 7 * DAY_MS ? "7 days" : "Older";
  };
  return ["Pinned", "Today", "7 days", "Older"]
    .map((title) => ({ title, chats: chats.filter((chat) => nameOf(chat) === title) }))
    .filter(({ chats: some }) => some.length > 0);
}
