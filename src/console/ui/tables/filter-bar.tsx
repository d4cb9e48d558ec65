import { Search, SlidersHorizontal } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { Button } from "../buttons/button.tsx";
import { Dialog } from "../overlays/dialog.tsx";
import { useKeys } from "../use-keys.ts";
import { SMALL, useMedia } from "../use-media.ts";

interface FilterBarProps {
  /** What is searched for; left out where the server cannot search. */
  readonly search?: {
    readonly label: string;
    readonly value: string;
    readonly onChange: (value: string) => void;
  };
  /** Selects and comboboxes, each with its own label. */
  readonly children?: ReactNode;
  /** How many filters differ from their default. */
  readonly active: number;
  readonly onClear: () => void;
}

const TYPING_MS = 250;

/** What narrows a list. On small screens the filters are a sheet. */
export function FilterBar({ search, children, active, onClear }: FilterBarProps) {
  const isSmall = useMedia(SMALL);
  const [isOpen, setOpen] = useState(false);
  const clear = active > 0 && (
    <Button look="quiet" onClick={onClear}>
      Clear filters
    </Button>
  );
  return (
    <search className="flex flex-wrap items-center gap-2">
      {search !== undefined && <SearchInput {...search} />}
      {isSmall && children !== undefined && (
        <Button onClick={() => setOpen(true)}>
          <SlidersHorizontal size={16} aria-hidden />
          Filters{active > 0 && ` (${active})`}
        </Button>
      )}
      {!isSmall && children}
      {!isSmall && clear}
      <Dialog isOpen={isSmall && isOpen} onClose={() => setOpen(false)} title="Filters">
        <div className="grid gap-3">
          {children}
          {clear}
          <Button look="primary" onClick={() => setOpen(false)}>
            Show the list
          </Button>
        </div>
      </Dialog>
    </search>
  );
}

/** Holds what is typed, and tells of it when the typing rests. */
function SearchInput({ label, value, onChange }: NonNullable<FilterBarProps["search"]>) {
  const [typed, setTyped] = useState(value);
  const sent = useRef(value);
  const input = useRef<HTMLInputElement>(null);
  useKeys([{ keys: "/", label: "Search this list", run: () => input.current?.focus() }]);
  useEffect(() => {
    // Changed from elsewhere: the filters were cleared, or the page went back.
    if (value !== sent.current) setTyped(value);
    sent.current = value;
  }, [value]);
  useEffect(() => {
    if (typed === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = typed;
      onChange(typed);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed, onChange]);
  return (
    <span className="relative min-w-0 flex-1 sm:max-w-2xs">
      <Search
        size={14}
        aria-hidden
        className="pointer-events-none absolute inset-y-0 left-2.5 my-auto text-muted"
      />
      <input
        ref={input}
        type="search"
        aria-label={label}
        placeholder={label}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
        className="control w-full pl-8"
      />
    </span>
  );
}
