import { useEffect, useState } from "react";
import { countOf } from "../../lib/count.ts";
import { previewTable, type TableFormat, type TablePreview } from "../../lib/tables/table-file.ts";
import { TextAreaField } from "../../ui/forms/field.tsx";
import { ValueTable } from "../../ui/tables/value-table.tsx";

interface FilePreviewProps {
  readonly file: Blob;
  readonly format: TableFormat;
  /** Rows of it are wrong: a short text can be mended here. */
  readonly isMending: boolean;
  readonly onChange: (text: string) => void;
}

/** Read of a file to show how it begins. */
const READ_BYTES = 256 * 1024;
/** Longer texts are mended where they come from. */
const MENDED_BYTES = 64 * 1024;

/** How a file begins, or the whole of a short one to be mended. */
export function FilePreview({ file, format, isMending, onChange }: FilePreviewProps) {
  const text = useBeginning(file, format !== "xlsx");
  const [mended, setMended] = useState<string>();
  if (format === "xlsx") {
    return (
      <p className="text-sm text-muted">
        The first sheet is imported; a workbook is not shown before.
      </p>
    );
  }
  if (text === undefined) return null;
  const isWhole = file.size <= READ_BYTES;
  if (isMending && file.size <= MENDED_BYTES) {
    return (
      <TextAreaField
        name="mended-file"
        label="Mend the rows here, and import again"
        hint="The file on your disk stays as it is."
        rows={10}
        isCode
        value={mended ?? text}
        onChange={(next) => {
          setMended(next);
          onChange(next);
        }}
      />
    );
  }
  return <Preview preview={previewTable(text, format, isWhole)} />;
}

function Preview({ preview }: { readonly preview: TablePreview | undefined }) {
  if (preview === undefined) {
    return <p className="text-sm text-muted">Its first rows cannot be shown.</p>;
  }
  const { columns, rows } = preview;
  return (
    <section aria-label="First rows" className="grid min-w-0 gap-2">
      <p className="text-sm text-muted">
        {rows.length === 0
          ? `Columns: ${columns.join(", ")}. There are no rows.`
          : `The first ${rows.length === 1 ? "row" : countOf(rows.length, "row")}, as read here:`}
      </p>
      <ValueTable label="First rows" columns={columns} rows={rows} />
    </section>
  );
}

/** The beginning of a file as text; undefined until it is read. */
function useBeginning(file: Blob, isText: boolean): string | undefined {
  const [read, setRead] = useState<{ readonly of: Blob; readonly text: string }>();
  useEffect(() => {
    if (!isText) return;
    let isGone = false;
    const take = (text: string) => {
      if (!isGone) setRead({ of: file, text });
    };
    // A file that has gone meanwhile is reported when it is sent.
    file
      .slice(0, READ_BYTES)
      .arrayBuffer()
      .then((bytes) => take(decode(bytes)))
      .catch(() => take(""));
    return () => {
      isGone = true;
    };
  }, [file, isText]);
  // While a mended text is read again, the one before stays: its field must not vanish under the hands.
  return read?.text;
}

function decode(bytes: ArrayBuffer): string {
  const [first, second] = new Uint8Array(bytes.slice(0, 2));
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (first === 0xfe && second === 0xff) return new TextDecoder("utf-16be").decode(bytes);
  return new TextDecoder().decode(bytes);
}
