import { Search } from "lucide-react";
import { Fragment, useState } from "react";
import { useStoreSearch, type VectorStore } from "../../api/queries/vector-stores.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { Select } from "../../ui/forms/select.tsx";
import { useUrlState } from "../../ui/navigation/use-url-state.ts";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { EmptyState } from "../../ui/status/empty-state.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";

const DEFAULTS = { query: "", results: "10" };
const COUNTS = ["5", "10", "20", "50"].map((value) => ({ value, label: `${value} results` }));

/** What a question finds in a store, with the scores, and where an answer would stop to use it. */
export function SearchTab({ store }: { readonly store: VectorStore }) {
  const [{ query, results }, change] = useUrlState(DEFAULTS);
  const [typed, setTyped] = useState(query);
  const limit = Math.min(50, Math.max(1, Number(results) || 10));
  const search = useStoreSearch(store.id, { text: query, limit });
  const isExpired = store.status === "expired";
  return (
    <div className="grid max-w-4xl gap-4">
      <form
        className="flex flex-wrap items-center gap-2"
        onSubmit={(event) => {
          event.preventDefault();
          if (typed === query) void search.refetch();
          else change({ query: typed });
        }}
      >
        <input
          type="search"
          aria-label="Question"
          placeholder="Ask as somebody would"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          className="control min-w-0 flex-1"
        />
        <Select
          label="Results"
          value={results}
          onChange={(next) => change({ results: next })}
          choices={COUNTS}
        />
        <Button
          type="submit"
          look="primary"
          isBusy={search.isFetching}
          disabledReason={reasonOf(typed, isExpired)}
        >
          <Search size={16} aria-hidden />
          Search store
        </Button>
        <CallButton
          call={{
            ...{ method: "POST", path: `/v1/vector_stores/${store.id}/search`, credential: "key" },
            body: { query, max_num_results: limit },
          }}
        />
      </form>
      {search.error !== null && (
        <ErrorCard
          what="The store could not be searched"
          error={search.error}
          onRetry={() => void search.refetch()}
        />
      )}
      {search.isFetching && search.data === undefined && (
        <Skeleton shape="lines" label="The store is being searched" />
      )}
      {search.data !== undefined && <Results found={search.data} />}
      {query === "" && (
        <EmptyState title="Try a question">
          The passages that an answer would be given, the best first, each with its score.
        </EmptyState>
      )}
    </div>
  );
}

function reasonOf(typed: string, isExpired: boolean): string | undefined {
  if (isExpired) return "The store has expired.";
  return typed.trim() === "" ? "The question is empty." : undefined;
}

type Found = NonNullable<ReturnType<typeof useStoreSearch>["data"]>;
type Passage = Found["data"][number];

function Results({ found }: { readonly found: Found }) {
  const { data, ext } = found;
  const least = ext.min_similarity;
  if (data.length === 0) {
    return <EmptyState title="Nothing is found">No file of the store is ready.</EmptyState>;
  }
  // Ranked by meaning and words together, so scores need not fall: each side of the line keeps its order.
  const above = data.filter(({ score }) => score >= least);
  const below = data.filter(({ score }) => score < least);
  return (
    <ol aria-label="Passages" className="grid gap-3">
      {above.map((passage, index) => (
        <Result key={keyOf(passage, index)} passage={passage} />
      ))}
      <li className="flex items-center gap-2 text-sm text-muted">
        <span className="h-px flex-1 bg-edge" aria-hidden />
        <span className="min-w-0">
          {least.toFixed(2)} threshold: below it a passage is used only for a code in the question
        </span>
        <span className="h-px flex-1 bg-edge" aria-hidden />
      </li>
      {below.map((passage, index) => (
        <Result key={keyOf(passage, index)} passage={passage} isBelow />
      ))}
    </ol>
  );
}

function keyOf({ file_id: id }: Passage, index: number): string {
  return `${id} ${index}`;
}

interface ResultProps {
  readonly passage: Passage;
  readonly isBelow?: boolean;
}

function Result({ passage, isBelow = false }: ResultProps) {
  const { score, filename, content, ext } = passage;
  const place = [
    ext.page === null ? undefined : `p. ${ext.page}`,
    ext.sheet ?? undefined,
    ext.heading ?? undefined,
  ].filter((part) => part !== undefined);
  return (
    <li className="grid grid-cols-[3.5rem_minmax(0,1fr)] gap-x-3 rounded-lg border border-line bg-surface p-3">
      <span className={isBelow ? "text-muted" : "font-medium"}>{score.toFixed(2)}</span>
      <div className="grid min-w-0 gap-1">
        <p className="break-words">
          <span className="font-medium">{filename}</span>
          {place.map((part) => (
            <Fragment key={part}> · {part}</Fragment>
          ))}
        </p>
        <p className="break-words whitespace-pre-wrap text-muted">
          {content.map(({ text }) => text).join("\n")}
        </p>
      </div>
    </li>
  );
}
