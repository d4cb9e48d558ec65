import { Autocomplete } from "@base-ui/react/autocomplete";
import { Dialog } from "@base-ui/react/dialog";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useSession } from "../api/queries/session.ts";
import { matchScore } from "../lib/match.ts";
import { type PageDefinition, pages } from "../pages.ts";
import { KeyHint } from "../ui/key-hint.tsx";

interface PaletteProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** The palette: type where to go. */
export function Palette({ isOpen, onClose }: PaletteProps) {
  return (
    <Dialog.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="appear fixed inset-0 z-40 bg-shade" />
        <Dialog.Viewport className="fixed inset-0 z-40 flex items-start justify-center sm:p-6 sm:pt-[12dvh]">
          <Dialog.Popup
            aria-label="Go to a page"
            className="appear flex h-dvh w-full flex-col overflow-hidden bg-surface shadow-raised sm:h-auto sm:max-w-lg sm:rounded-lg sm:border sm:border-line"
          >
            <Search onClose={onClose} />
          </Dialog.Popup>
        </Dialog.Viewport>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function Search({ onClose }: { readonly onClose: () => void }) {
  const [typed, setTyped] = useState("");
  const role = useSession().data?.role ?? "user";
  const navigate = useNavigate();
  const found = findPages(role, typed);
  const go = (page: PageDefinition) => {
    onClose();
    void navigate({ to: `/${page.path}` });
  };
  return (
    <Autocomplete.Root
      inline
      open
      autoHighlight="always"
      keepHighlight
      mode="none"
      items={found}
      filter={null}
      value={typed}
      onValueChange={setTyped}
      itemToStringValue={(page) => page.title}
    >
      <div className="flex items-center border-b border-line">
        <Autocomplete.Input
          aria-label="Where to go"
          placeholder="Where to go"
          className="h-[3rem] min-w-0 flex-1 bg-transparent px-4 text-lg outline-none"
        />
        <Dialog.Close className="mx-2 min-h-(--control) rounded-md px-2 text-sm text-muted hover:bg-sunken">
          Close
        </Dialog.Close>
      </div>
      <Autocomplete.Empty>
        <p className="p-4 text-muted">No page is called that.</p>
      </Autocomplete.Empty>
      <Autocomplete.List className="min-h-0 overflow-y-auto p-1 empty:hidden sm:max-h-[20rem]">
        {(page: PageDefinition) => (
          <Autocomplete.Item
            key={page.path}
            value={page}
            onClick={() => go(page)}
            className="flex min-h-[2.25rem] items-center gap-3 rounded-md px-3 outline-none data-[highlighted]:bg-accent-soft touch:min-h-[2.75rem]"
          >
            <page.icon size={16} className="text-muted" aria-hidden />
            <span className="flex-1">{page.title}</span>
            {page.shortcut !== undefined && <KeyHint keys={`g ${page.shortcut}`} />}
          </Autocomplete.Item>
        )}
      </Autocomplete.List>
    </Autocomplete.Root>
  );
}

function findPages(role: "admin" | "user", typed: string): readonly PageDefinition[] {
  return pages
    .filter(({ level, path }) => (level === "user" || level === role) && !path.includes("$"))
    .map((page) => ({ page, score: matchScore(page.title, typed) }))
    .filter(({ score }) => score > 0)
    .sort((left, right) => right.score - left.score)
    .map(({ page }) => page);
}
