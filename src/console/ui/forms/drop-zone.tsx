import { Upload } from "lucide-react";
import { type DragEvent, useRef, useState } from "react";
import { Button } from "../buttons/button.tsx";
import { classes } from "../classes.ts";

interface DropZoneProps {
  /** What is taken: "a license file (.lic)". */
  readonly what: string;
  /** As an input's `accept` has it; the server judges what comes. */
  readonly accept?: string;
  readonly isMultiple?: boolean;
  readonly isBusy?: boolean;
  /** One line, above a list that is the page's main thing. */
  readonly isLow?: boolean;
  readonly onFiles: (files: readonly File[]) => void;
}

/** Where files are dropped or chosen. */
export function DropZone(props: DropZoneProps) {
  const { what, accept, isMultiple, isBusy, isLow = false, onFiles } = props;
  const [isOver, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const take = (files: FileList | null) => {
    const taken = [...(files ?? [])].slice(0, isMultiple ? undefined : 1);
    if (taken.length > 0 && !isBusy) onFiles(taken);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    take(event.dataTransfer.files);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button within does the same by keyboard
    // biome-ignore lint/a11y/noNoninteractiveElementInteractions: the button within does the same by keyboard
    <div
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
      className={classes(
        "rounded-lg border border-dashed",
        isLow
          ? "flex flex-wrap items-center justify-center gap-x-4 gap-y-2 p-3"
          : "grid justify-items-center gap-3 p-6 text-center",
        isOver ? "border-accent bg-accent-soft" : "border-edge bg-sunken",
      )}
    >
      <Upload size={20} className="text-muted" aria-hidden />
      <p>
        Drop {what} here, or choose {isMultiple ? "them" : "it"}.
      </p>
      <Button isBusy={isBusy ?? false} onClick={() => input.current?.click()}>
        {isMultiple ? "Choose files" : "Choose file"}
      </Button>
      <input
        ref={input}
        type="file"
        hidden
        aria-label={what}
        accept={accept}
        multiple={isMultiple}
        onChange={(event) => {
          take(event.target.files);
          // The same file can be chosen again after a refusal.
          event.target.value = "";
        }}
      />
    </div>
  );
}
