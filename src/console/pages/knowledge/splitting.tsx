import { useState } from "react";
import type { Chunking } from "../../api/queries/store-files.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { Form } from "../../ui/forms/form.tsx";
import { NumberField } from "../../ui/forms/number-field.tsx";
import { SelectField } from "../../ui/forms/select.tsx";
import { Dialog } from "../../ui/overlays/dialog.tsx";

interface SplittingProps {
  /** Undefined: as the server is set. */
  readonly chunking: Chunking | undefined;
  readonly onChange: (chunking: Chunking | undefined) => void;
}

/** How the files that are added next are split into chunks. */
export function Splitting({ chunking, onChange }: SplittingProps) {
  const [isOpen, setOpen] = useState(false);
  const text =
    chunking?.type === "static"
      ? `${chunking.static.max_chunk_size_tokens} tokens`
      : "the server's sizes";
  return (
    <>
      <Button onClick={() => setOpen(true)}>Chunks: {text}</Button>
      <Dialog
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        title="How new files are split"
        description="Files that the store has keep their chunks. A token counts as four characters."
      >
        <SplittingForm
          chunking={chunking}
          onClose={() => setOpen(false)}
          onChange={(next) => {
            onChange(next);
            setOpen(false);
          }}
        />
      </Dialog>
    </>
  );
}

function SplittingForm(props: SplittingProps & { readonly onClose: () => void }) {
  const { chunking, onChange, onClose } = props;
  const given = chunking?.type === "static" ? chunking.static : undefined;
  const [kind, setKind] = useState<Chunking["type"]>(chunking?.type ?? "auto");
  const [size, setSize] = useState<number | null>(given?.max_chunk_size_tokens ?? null);
  const [overlap, setOverlap] = useState<number | null>(given?.chunk_overlap_tokens ?? null);
  const reason = kind === "auto" ? undefined : faultOf(size, overlap);
  return (
    <Form
      action="Use these sizes"
      onCancel={onClose}
      disabledReason={reason}
      onSubmit={async () =>
        onChange(
          kind === "auto" || size === null || overlap === null
            ? undefined
            : {
                type: "static",
                static: { max_chunk_size_tokens: size, chunk_overlap_tokens: overlap },
              },
        )
      }
    >
      <SelectField
        name="chunking_strategy"
        label="Sizes"
        value={kind}
        onChange={setKind}
        choices={[
          { value: "auto", label: "The server's" },
          { value: "static", label: "My own" },
        ]}
      />
      {kind === "static" && (
        <>
          <NumberField
            name="max_chunk_size_tokens"
            label="Tokens of a chunk"
            hint="100 to 4,096. Small chunks are found exactly, large ones bring more around."
            min={100}
            max={4_096}
            value={size}
            onChange={setSize}
          />
          <NumberField
            name="chunk_overlap_tokens"
            label="Tokens that neighbours share"
            hint="Half of a chunk at most."
            value={overlap}
            onChange={setOverlap}
          />
        </>
      )}
    </Form>
  );
}

function faultOf(size: number | null, overlap: number | null): string | undefined {
  if (size === null || overlap === null) return "Both sizes are needed.";
  return overlap > size / 2 ? "Neighbours share half of a chunk at most." : undefined;
}
