import { useState } from "react";
import { lineOf } from "../../../lib/json/json-text.ts";
import { readWorkflow } from "../../../lib/workflow-text.ts";
import { Button } from "../../../ui/buttons/button.tsx";
import { DropZone } from "../../../ui/forms/drop-zone.tsx";
import { Dialog } from "../../../ui/overlays/dialog.tsx";
import { BLANK, EXAMPLES } from "./examples.ts";

/** Twice what the server takes, for a text with indents. */
const MOST_BYTES = 1_024 * 1_024;

interface CreateDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  /** Called with the text to begin with; nothing is saved yet. */
  readonly onChosen: (text: string) => void;
}

/** What a new workflow begins as. */
export function CreateDialog({ isOpen, onClose, onChosen }: CreateDialogProps) {
  const choose = (text: string) => {
    onClose();
    onChosen(text);
  };
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title="New workflow"
      description="Choose what it begins as. Nothing is saved yet."
      isWide
    >
      <div>
        <Button look="primary" onClick={() => choose(BLANK)}>
          Begin with nothing
        </Button>
      </div>
      <section aria-labelledby="examples" className="grid gap-2">
        <h3 id="examples" className="font-medium">
          Begin with an example
        </h3>
        <ul className="grid gap-2">
          {EXAMPLES.map(({ name, title, needs, text }) => (
            <li key={name}>
              <button
                type="button"
                onClick={() => choose(text)}
                className="grid w-full gap-0.5 rounded-md border border-line px-3 py-2 text-start hover:border-edge hover:bg-sunken"
              >
                <span className="font-medium">{title}</span>
                <span className="text-sm text-muted">Needs: {needs}</span>
              </button>
            </li>
          ))}
        </ul>
      </section>
      <Import onChosen={choose} />
    </Dialog>
  );
}

function Import({ onChosen }: Pick<CreateDialogProps, "onChosen">) {
  const [fault, setFault] = useState<string>();
  const read = async (file: File) => {
    if (file.size > MOST_BYTES) {
      setFault(`${file.name} is larger than 1 MiB: it is no export of a workflow.`);
      return;
    }
    const text = await file.text();
    const found = readWorkflow(text);
    if ("document" in found) return onChosen(text);
    const line = lineOf(text, found.fault.offset);
    setFault(`${file.name}, line ${line}: ${found.fault.message}`);
  };
  return (
    <section aria-labelledby="import" className="grid gap-2">
      <h3 id="import" className="font-medium">
        Import an export
      </h3>
      <DropZone
        what="the JSON of a workflow"
        accept=".json,application/json"
        onFiles={([file]) => file && void read(file)}
      />
      {fault !== undefined && (
        <p role="alert" className="font-medium text-bad">
          {fault}
        </p>
      )}
    </section>
  );
}
