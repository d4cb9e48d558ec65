import { Autocomplete } from "@base-ui/react/autocomplete";
import { Dialog } from "@base-ui/react/dialog";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { KeyHint } from "../ui/key-hint.tsx";
import type { PaletteGroup, PaletteItem } from "./palette-items.ts";
import { usePaletteGroups } from "./use-palette-groups.ts";

interface PaletteProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** The palette: type where to go, what to find, or what to do. */
export function Palette({ isOpen, onClose }: PaletteProps) {
  return (
    <Dialog.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="appear fixed inset-0 z-40 bg-shade" />
        <Dialog.Viewport className="fixed inset-0 z-40 flex items-start justify-center sm:p-6 sm:pt-[12dvh]">
          <Dialog.Popup
            aria-label="Go to"
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
  const navigate = useNavigate();
  const { groups, isSearching } = usePaletteGroups(typed);
  const choose = ({ to, run }: PaletteItem) => {
    onClose();
    if (to !== undefined) void navigate({ to });
    // What it opens takes the focus, after the palette has given it back.
    else if (run !== undefined) setTimeout(() => run(new KeyboardEvent("keydown")));
  };
  return (
    <Autocomplete.Root
      inline
      open
      autoHighlight="always"
      keepHighlight
      mode="none"
      items={groups}
      filter={null}
      value={typed}
      onValueChange={setTyped}
      itemToStringValue={(item: PaletteItem) => item.title}
    >
      <div className="flex items-center border-b border-line">
        <Autocomplete.Input
          aria-label="Where to go"
          placeholder="A page, a name, req_…, or what to do"
          className="h-[3rem] min-w-0 flex-1 bg-transparent px-4 text-lg outline-none"
        />
        <Dialog.Close className="mx-2 min-h-(--control) rounded-md px-2 text-sm text-muted hover:bg-sunken">
          Close
        </Dialog.Close>
      </div>
      <Autocomplete.Empty>
        <p className="p-4 text-muted">{isSearching ? "Searching…" : "Nothing is called that."}</p>
      </Autocomplete.Empty>
      <Autocomplete.List className="min-h-0 overflow-y-auto p-1 empty:hidden sm:max-h-[24rem]">
        {(group: PaletteGroup) => (
          <Autocomplete.Group key={group.label} items={group.items} className="pb-1">
            <Autocomplete.GroupLabel className="px-3 pt-2 pb-1 text-xs font-medium text-muted">
              {group.label}
            </Autocomplete.GroupLabel>
            <Autocomplete.Collection>
              {(item: PaletteItem) => (
                <Autocomplete.Item
                  key={item.id}
                  value={item}
                  onClick={() => choose(item)}
                  className="flex min-h-(--row) items-center gap-3 rounded-md px-3 outline-none data-[highlighted]:bg-accent-soft"
                >
                  <item.icon size={16} className="shrink-0 text-muted" aria-hidden />
                  <span className="min-w-0 truncate">{item.title}</span>
                  <span className="min-w-0 flex-1 truncate text-sm text-muted">{item.hint}</span>
                  {item.keys !== undefined && <KeyHint keys={item.keys} />}
                </Autocomplete.Item>
              )}
            </Autocomplete.Collection>
          </Autocomplete.Group>
        )}
      </Autocomplete.List>
    </Autocomplete.Root>
  );
}
