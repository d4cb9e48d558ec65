import { Braces, Download, EllipsisVertical, SlidersHorizontal } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { ChatDocument } from "../../chat/chat-document.ts";
import { toRequest } from "../../chat/chat-request.ts";
import { toMarkdown } from "../../chat/export-chat.ts";
import type { LiveChat } from "../../chat/live-chat.ts";
import type { ShownCall } from "../../lib/clients/curl.ts";
import { ModelPicker } from "../../parts/pickers/model-picker.tsx";
import { IconButton } from "../../ui/buttons/icon-button.tsx";
import { saveFile } from "../../ui/buttons/save-file.ts";
import { CallButton, CallDialog } from "../../ui/overlays/call-dialog.tsx";
import { Dialog } from "../../ui/overlays/dialog.tsx";
import { Menu } from "../../ui/overlays/menu.tsx";
import { SMALL, useMedia } from "../../ui/use-media.ts";
import { ChatSettings, EffortSelect } from "./chat-settings.tsx";

interface ChatHeadProps {
  readonly chat: LiveChat;
  /** Its outline. */
  readonly document: ChatDocument;
  readonly title: string;
  /** Called when a setting is another one, or may be. */
  readonly onSet: () => void;
  readonly before: ReactNode;
  readonly children: ReactNode;
}

/** Which model answers, and how; the chat as code and as a file. On small screens it is one line. */
export function ChatHead(props: ChatHeadProps) {
  const { chat, document, title, onSet, before, children } = props;
  const [isOpen, setOpen] = useState(false);
  const isSmall = useMedia(SMALL);
  return (
    <div className="flex flex-wrap items-center gap-1 border-b border-line bg-surface px-4 py-2 sm:gap-2">
      {before}
      <h1 data-page-title tabIndex={-1} className="sr-only">
        {title === "" ? "Chat" : title}
      </h1>
      <ModelPicker
        value={document.model}
        onChange={(model) => {
          chat.change((now) => ({ ...now, model }));
          onSet();
        }}
        className="max-w-3xs min-w-0 max-sm:grow max-sm:basis-20"
      />
      {!isSmall && <EffortSelect chat={chat} document={document} onSet={onSet} />}
      <IconButton
        icon={SlidersHorizontal}
        label="Change the parameters"
        onClick={() => setOpen(true)}
      />
      {children}
      <span className="ml-auto flex">
        <ChatActions chat={chat} title={title} isSmall={isSmall} />
      </span>
      <Dialog
        isOpen={isOpen}
        onClose={() => {
          setOpen(false);
          onSet();
        }}
        title="Parameters"
      >
        <ChatSettings chat={chat} document={document} hasEffort={isSmall} />
      </Dialog>
    </div>
  );
}

interface ChatActionsProps extends Pick<ChatHeadProps, "chat" | "title"> {
  /** One menu has them all. */
  readonly isSmall: boolean;
}

function ChatActions({ chat, title, isSmall }: ChatActionsProps) {
  const [isCallOpen, setCallOpen] = useState(false);
  const call = (): ShownCall => ({
    ...{ method: "POST", path: "/v1/chat/completions", credential: "key" },
    body: toRequest(chat.state().document),
  });
  const exports = exportsOf(chat, title);
  if (isSmall) {
    return (
      <>
        <Menu
          trigger={<IconButton icon={EllipsisVertical} label="More actions" isPlain />}
          items={[
            { label: "Show the call", icon: Braces, run: () => setCallOpen(true) },
            ...exports.map((item) => ({ ...item, icon: Download })),
          ]}
        />
        <CallDialog call={call} isOpen={isCallOpen} onClose={() => setCallOpen(false)} />
      </>
    );
  }
  return (
    <>
      <CallButton call={call} />
      <Menu trigger={<IconButton icon={Download} label="Export the chat" />} items={exports} />
    </>
  );
}

function exportsOf(chat: LiveChat, title: string) {
  const name = (title || "Chat").replaceAll(/[^\p{L}\p{N} _-]/gu, "").slice(0, 60) || "Chat";
  return [
    {
      label: "Save as Markdown",
      run: () => {
        const text = toMarkdown(title || "Chat", chat.state().document);
        saveFile(`${name}.md`, "text/markdown", text);
      },
    },
    {
      label: "Save as JSON",
      run: () => {
        const text = JSON.stringify(chat.state().document, null, 2);
        saveFile(`${name}.json`, "application/json", text);
      },
    },
  ];
}
