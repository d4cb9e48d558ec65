import { useState } from "react";
import type { Source } from "../../chat/chat-document.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { Dialog } from "../../ui/overlays/dialog.tsx";

/** The passages that an answer was given; a click shows one. Those that it cites come first. */
export function Sources({ sources }: { readonly sources: readonly Source[] }) {
  const [open, setOpen] = useState<Source | undefined>();
  const ordered = [...sources].sort((left, right) => Number(right.cited) - Number(left.cited));
  return (
    <section aria-label="Sources" className="flex flex-wrap items-center gap-2">
      <span className="text-sm text-muted">Sources</span>
      {ordered.map((source) => (
        <Button
          key={source.index}
          look={source.cited ? "plain" : "quiet"}
          onClick={() => setOpen(source)}
        >
          <span className="max-w-[15rem] truncate">
            [{source.index}] {source.filename}
            {placeOf(source)}
          </span>
          <span className="text-sm text-muted">{source.score.toFixed(2)}</span>
        </Button>
      ))}
      <Dialog
        isOpen={open !== undefined}
        onClose={() => setOpen(undefined)}
        title={open === undefined ? "" : `[${open.index}] ${open.filename}${placeOf(open)}`}
        description={open?.heading}
        isWide
      >
        <p className="max-h-[60dvh] overflow-y-auto break-words whitespace-pre-wrap">
          {open?.text}
        </p>
      </Dialog>
    </section>
  );
}

function placeOf({ page, sheet }: Source): string {
  if (page !== undefined) return ` p. ${page}`;
  return sheet === undefined ? "" : ` ${sheet}`;
}
