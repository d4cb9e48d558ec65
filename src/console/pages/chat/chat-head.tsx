import { Download, SlidersHorizontal } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { ChatDocument, ChatParameters } from "../../chat/chat-document.ts";
import { toRequest } from "../../chat/chat-request.ts";
import { toMarkdown } from "../../chat/export-chat.ts";
import type { LiveChat } from "../../chat/live-chat.ts";
import { ModelPicker } from "../../parts/model-picker.tsx";
import { CallButton } from "../../ui/call-dialog.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { TextAreaField, TextField } from "../../ui/field.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { Menu } from "../../ui/menu.tsx";
import { saveFile } from "../../ui/save-file.ts";
import { Select } from "../../ui/select.tsx";

interface ChatHeadProps {
  readonly chat: LiveChat;
  /** Its outline. */
  readonly document: ChatDocument;
  readonly title: string;
  readonly before: ReactNode;
  readonly children: ReactNode;
}

const EFFORTS = ["", "none", "minimal", "low", "medium", "high"].map((value) => ({
  value,
  label: value === "" ? "Effort: default" : `Effort: ${value}`,
}));

/** Which model answers, and how; the chat as code and as a file. */
export function ChatHead({ chat, document, title, before, children }: ChatHeadProps) {
  const [isOpen, setOpen] = useState(false);
  const { effort = "" } = document.parameters;
  const name = (title || "Chat").replaceAll(/[^\p{L}\p{N} _-]/gu, "").slice(0, 60) || "Chat";
  return (
    <div className="flex flex-wrap items-center gap-2 border-b border-line bg-surface px-4 py-2">
      {before}
      <h1 data-page-title tabIndex={-1} className="sr-only">
        {title === "" ? "Chat" : title}
      </h1>
      <ModelPicker
        value={document.model}
        onChange={(model) => chat.change((now) => ({ ...now, model }))}
        className="max-w-3xs"
      />
      <Select
        label="Effort"
        value={effort}
        choices={EFFORTS}
        onChange={(value) =>
          chat.change((now) => ({ ...now, parameters: withEffort(now.parameters, value) }))
        }
      />
      <IconButton
        icon={SlidersHorizontal}
        label="Change the parameters"
        onClick={() => setOpen(true)}
      />
      {children}
      <span className="ml-auto flex">
        <CallButton
          call={() => ({
            ...{ method: "POST", path: "/v1/chat/completions", credential: "key" },
            body: toRequest(chat.state().document),
          })}
        />
        <Menu
          trigger={<IconButton icon={Download} label="Export the chat" />}
          items={[
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
          ]}
        />
      </span>
      <Dialog isOpen={isOpen} onClose={() => setOpen(false)} title="Parameters">
        <Settings chat={chat} document={document} />
      </Dialog>
    </div>
  );
}

const NUMBERS = [
  { name: "temperature", label: "Temperature", hint: "0 to 2; empty is the model's own." },
  { name: "top_p", label: "Top p", hint: "0 to 1; empty is the model's own." },
  {
    name: "max_tokens",
    label: "Tokens of an answer",
    hint: "At most; empty is the model's own limit.",
  },
] as const;

function Settings({ chat, document }: Pick<ChatHeadProps, "chat" | "document">) {
  const { parameters, system } = document;
  return (
    <div className="grid gap-4">
      <TextAreaField
        name="system"
        label="System prompt"
        rows={6}
        value={system}
        onChange={(text) => chat.change((now) => ({ ...now, system: text }))}
      />
      {NUMBERS.map(({ name, label, hint }) => (
        <TextField
          key={name}
          name={name}
          label={label}
          hint={hint}
          inputMode="decimal"
          value={parameters[name]?.toString() ?? ""}
          onChange={(text) =>
            chat.change((now) => ({ ...now, parameters: withNumber(now.parameters, name, text) }))
          }
        />
      ))}
    </div>
  );
}

function withEffort({ effort: _before, ...rest }: ChatParameters, effort: string): ChatParameters {
  return effort === "" ? rest : { ...rest, effort };
}

function withNumber(
  parameters: ChatParameters,
  name: (typeof NUMBERS)[number]["name"],
  text: string,
): ChatParameters {
  const { [name]: _before, ...rest } = parameters;
  const number = Number(text);
  return text.trim() === "" || !Number.isFinite(number) ? rest : { ...rest, [name]: number };
}
