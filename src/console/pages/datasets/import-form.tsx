import { type ReactNode, useEffect, useRef, useState } from "react";
import { ApiError } from "../../api/errors.ts";
import { formatBytes } from "../../lib/count.ts";
import { formatOfFile, MEDIA_TYPES, type TableFormat } from "../../lib/tables/table-file.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { DropZone } from "../../ui/forms/drop-zone.tsx";
import { Form } from "../../ui/forms/form.tsx";
import { showToast } from "../../ui/overlays/toast.tsx";
import { Progress } from "../../ui/status/progress.tsx";
import { Bytes } from "../../ui/text/count.tsx";
import { FilePreview } from "./file-preview.tsx";
import { type RowFault, RowFaults } from "./row-faults.tsx";

/** What is sent, and how far it is. */
export interface SentFile {
  readonly file: Blob;
  readonly type: string;
  readonly onProgress: (sent: number) => void;
  readonly signal: AbortSignal;
}

interface ChosenFile {
  /** Counts the files that were chosen: what is mended belongs to one of them. */
  readonly number: number;
  readonly file: Blob;
  readonly name: string;
  readonly format: TableFormat;
}

interface ImportFormProps {
  readonly action: string;
  readonly isDanger?: boolean;
  readonly disabledReason?: string | undefined;
  readonly onCancel: () => void;
  /** Called with the name of a file that was chosen. */
  readonly onFile?: (name: string) => void;
  readonly onSend: (file: SentFile) => Promise<void>;
  /** The fields beside the file. */
  readonly children: ReactNode;
}

interface Faults {
  readonly rows: readonly RowFault[];
  /** Why the file was not read further. */
  readonly end: string | null;
}

const MAX_BYTES = 256 * 1024 * 1024;

/** A file of rows: chosen, seen, sent, and mended where rows of it are wrong. */
export function ImportForm(props: ImportFormProps) {
  const { action, isDanger, disabledReason, onCancel, onFile, onSend, children } = props;
  const [chosen, setChosen] = useState<ChosenFile>();
  const [refusal, setRefusal] = useState<string>();
  const [faults, setFaults] = useState<Faults>();
  const [sent, setSent] = useState<number>();
  const sending = useRef<AbortController>(undefined);
  const choices = useRef(0);
  // Closing the dialog in any way cancels the import, because its result could not be shown.
  useEffect(() => () => sending.current?.abort(new Error("The import was cancelled.")), []);
  const choose = (file: File | undefined) => {
    if (file === undefined) return;
    const format = formatOfFile(file.name);
    setFaults(undefined);
    setRefusal(refusalOf(file, format));
    if (format === undefined || file.size > MAX_BYTES) return;
    choices.current += 1;
    setChosen({ number: choices.current, file, name: file.name, format });
    onFile?.(file.name);
  };
  const send = async () => {
    if (chosen === undefined) return;
    setFaults(undefined);
    sending.current = new AbortController();
    const { signal } = sending.current;
    try {
      const { file, format } = chosen;
      await onSend({ file, type: MEDIA_TYPES[format], onProgress: setSent, signal });
    } catch (thrown) {
      // The form that would say so is gone.
      if (signal.aborted) showToast("The import was cancelled");
      const found = faultsOf(thrown);
      setFaults(found);
      // Wrong rows are listed; the form would mark a field of the same name as their column.
      throw found === undefined ? thrown : withoutParam(thrown as ApiError);
    } finally {
      setSent(undefined);
    }
  };
  return (
    <Form
      action={action}
      look={isDanger === true ? "danger" : "primary"}
      onCancel={onCancel}
      disabledReason={chosen === undefined ? "Choose a file first." : disabledReason}
      onSubmit={send}
    >
      <DropZone
        what="a file of rows (CSV, NDJSON, JSON or XLSX)"
        accept=".csv,.tsv,.txt,.ndjson,.jsonl,.json,.xlsx"
        isBusy={sent !== undefined}
        onFiles={([file]) => choose(file)}
      />
      {refusal !== undefined && (
        <p role="alert" className="font-medium text-bad">
          {refusal}
        </p>
      )}
      {chosen !== undefined && (
        <>
          <p className="flex flex-wrap items-center gap-2">
            <bdi className="min-w-0 font-medium break-all">{chosen.name}</bdi>
            <span className="text-muted">
              <Bytes value={chosen.file.size} />
            </span>
            <Button
              look="quiet"
              onClick={() => {
                setChosen(undefined);
                setFaults(undefined);
              }}
            >
              Remove file
            </Button>
          </p>
          {faults !== undefined && <RowFaults {...faults} />}
          <FilePreview
            key={chosen.number}
            file={chosen.file}
            format={chosen.format}
            isMending={faults !== undefined}
            onChange={(text) => setChosen({ ...chosen, file: new Blob([text]) })}
          />
        </>
      )}
      {children}
      {chosen !== undefined && sent !== undefined && (
        <Progress
          label={sent < chosen.file.size ? "The file is sent" : "The rows are checked and written"}
          share={sent < chosen.file.size ? sent / chosen.file.size : null}
        />
      )}
    </Form>
  );
}

function refusalOf({ name, size }: File, format: TableFormat | undefined): string | undefined {
  if (format === undefined) {
    return `${name} is none of CSV, NDJSON, JSON and XLSX by its name. Nothing is chosen.`;
  }
  if (size === 0) return `${name} is empty.`;
  if (size <= MAX_BYTES) return undefined;
  return `${name} has ${formatBytes(size)}; a file has at most ${formatBytes(MAX_BYTES)}. Divide it.`;
}

/** The wrong rows that an answer names. */
function faultsOf(thrown: unknown): Faults | undefined {
  const ext = thrown instanceof ApiError ? thrown.ext : undefined;
  const rows = ext?.["errors"];
  if (!Array.isArray(rows) || rows.length === 0) return undefined;
  const end = ext?.["end"];
  return { rows: rows as readonly RowFault[], end: typeof end === "string" ? end : null };
}

function withoutParam(error: ApiError): ApiError {
  const { status, code, requestId, retryAfterSeconds } = error;
  const text = "Rows of the file are wrong: see above. Nothing was written.";
  return new ApiError(text, { status, code, requestId, retryAfterSeconds, param: null });
}
