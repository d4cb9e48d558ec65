import { Download, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { loadCsv } from "../api/csv.ts";
import { formatExact } from "../lib/count.ts";
import { csvAddress } from "../lib/tables/csv.ts";
import { Button } from "../ui/buttons/button.tsx";
import { CompactButton } from "../ui/buttons/compact-button.tsx";
import { saveFile } from "../ui/buttons/save-file.ts";
import { showToast } from "../ui/overlays/toast.tsx";
import { ErrorCard } from "../ui/status/error-card.tsx";

interface SaveCsvProps {
  readonly path: string;
  /** The filters of the view, in the query's names. */
  readonly query: Readonly<Record<string, string | number | undefined>>;
  /** The file's name without `.csv`. */
  readonly name: string;
  /** Rows of one page of the server, of which the file has at most a hundred. */
  readonly pageRows: number;
}

const MOST_PAGES = 100;

/** Saves what a view shows as the file that the server writes of it. A long one can be stopped. */
export function SaveCsv({ path, query, name, pageRows }: SaveCsvProps) {
  const [pages, setPages] = useState<number>();
  const [error, setError] = useState<unknown>();
  const loading = useRef<AbortController>(undefined);
  useEffect(() => () => loading.current?.abort(), []);
  const save = async () => {
    const stop = new AbortController();
    loading.current = stop;
    setError(undefined);
    setPages(0);
    try {
      const address = csvAddress(path, { ...query, limit: pageRows });
      const asked = { mostPages: MOST_PAGES, signal: stop.signal, onPage: setPages };
      const { text, isWhole } = await loadCsv(address, asked);
      saveFile(`${name}.csv`, "text/csv", text);
      const most = formatExact(MOST_PAGES * pageRows);
      if (!isWhole) showToast(`The file ends after ${most} rows. Choose a shorter range for all.`);
    } catch (thrown) {
      if (!stop.signal.aborted) setError(thrown);
    } finally {
      setPages(undefined);
    }
  };
  return (
    <>
      {error !== undefined && <ErrorCard what="The file could not be made" error={error} />}
      {pages === undefined ? (
        <CompactButton icon={Download} label="Save CSV" onClick={() => void save()} />
      ) : (
        <Button onClick={() => loading.current?.abort()}>
          <X size={16} aria-hidden />
          Stop the file{pages > 0 && ` (${formatExact(pages * pageRows)} rows)`}
        </Button>
      )}
    </>
  );
}
